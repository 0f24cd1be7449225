"""SimPy: async as a process for each learner, k-sync as a process of the server.

SimPy cannot take a timeout back, so that of a cancelled minibatch fires later and finds its update made.
"""

import random

import simpy

VERSION = simpy.__version__


class Async:
    def __init__(self, work):
        random.seed(1)
        self.environment = simpy.Environment()
        self.version = self.staleness = 0
        self.wanted = None
        for _ in range(work["learners"]):
            self.environment.process(self.learner())

    def learner(self):
        timeout, draw = self.environment.timeout, random.expovariate
        while True:
            read = self.version
            yield timeout(draw(1))
            self.staleness += self.version - read
            self.version += 1
            if self.version == self.until:
                self.wanted.succeed()

    def advance(self, minibatches):
        self.until = self.version + minibatches
        self.wanted = self.environment.event()
        self.environment.run(self.wanted)
        return minibatches

    def result(self):
        return {"updates": self.version, "time": self.environment.now, "staleness": self.staleness}


class KSync:
    def __init__(self, work):
        random.seed(1)
        self.environment = simpy.Environment()
        self.learners, self.k = work["learners"], work["k"]
        self.used = [0] * self.learners
        self.version = 0

    def iteration(self):
        """Begins all minibatches; the event that it returns is the update."""
        timeout, draw, used = self.environment.timeout, random.expovariate, self.used
        update, missing = self.environment.event(), self.k

        def arrive(event):
            nonlocal missing
            if missing == 0:
                return
            used[event.value] += 1
            missing -= 1
            if missing == 0:
                update.succeed()

        for learner in range(self.learners):
            timeout(draw(1), learner).callbacks.append(arrive)
        return update

    def server(self, updates):
        for _ in range(updates):
            yield self.iteration()
            self.version += 1

    def advance(self, minibatches):
        updates = -(-minibatches // self.learners)
        self.environment.run(self.environment.process(self.server(updates)))
        return updates * self.learners

    def result(self):
        return {"updates": self.version, "time": self.environment.now}
