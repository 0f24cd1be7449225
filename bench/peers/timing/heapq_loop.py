"""The event loop that people write with Python's heapq: a heap of (time, learner), no library."""

import platform
import random
from heapq import heapify, heappop, heapreplace
from math import log

VERSION = platform.python_version()


class Async:
    """An update for every minibatch; the learner reads the new version and goes on."""

    def __init__(self, work):
        random.seed(1)
        self.learners = work["learners"]
        self.heap = [(-log(1 - random.random()), i) for i in range(self.learners)]
        heapify(self.heap)
        self.read = [0] * self.learners
        self.now = self.version = self.staleness = 0

    def advance(self, minibatches):
        heap, read, uniform = self.heap, self.read, random.random
        version, staleness = self.version, self.staleness
        for version in range(version + 1, version + minibatches + 1):
            now, learner = heap[0]
            staleness += version - 1 - read[learner]
            read[learner] = version
            heapreplace(heap, (now - log(1 - uniform()), learner))
        self.now, self.version, self.staleness = now, version, staleness
        return minibatches

    def result(self):
        return {"updates": self.version, "time": self.now, "staleness": self.staleness}


class KSync:
    """All begin at once; the K that are first make an update, the others are cancelled."""

    def __init__(self, work):
        random.seed(1)
        self.learners, self.k = work["learners"], work["k"]
        self.used = [0] * self.learners
        self.now = self.version = 0

    def advance(self, minibatches):
        uniform, used, learners = random.random, self.used, self.learners
        updates = -(-minibatches // learners)
        for _ in range(updates):
            heap = [(-log(1 - uniform()), i) for i in range(learners)]
            heapify(heap)
            for _ in range(self.k):
                passed, learner = heappop(heap)
                used[learner] += 1
            self.now += passed
            self.version += 1
        return updates * learners

    def result(self):
        return {"updates": self.version, "time": self.now}
