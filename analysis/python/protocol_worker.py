"""Decides for a parameter server as a user's class says, for gradrace, which starts one process for each run.

    protocol_worker.py FILE CLASS LENGTH

See user_class.py, and protocols/python.cpp, which asks it.
"""

import array
import math
import os
import struct
from collections import namedtuple

from user_class import CALLS, NONE, WELL, Mistake, UserClass, answer, answer_bytes, run

MESSAGE = struct.Struct("=6I4d")
FUNCTIONS = ("start", "on_gradient", "on_loss", "on_return", "on_timer", "on_evaluation")
START, ON_GRADIENT, ON_LOSS, ON_RETURN, ON_TIMER, ON_EVALUATION = range(len(FUNCTIONS))
DONE, COMPUTING, WORK = range(3)  # what is asked beside orders
(
    DISPATCH,
    DISPATCH_WAITING,
    ACCEPT,
    DROP,
    HOLD,
    RELEASE,
    CANCEL,
    CANCEL_ALL,
    UPDATE,
    PAUSE,
    TIMER,
    EVALUATE_AT,
    SET_K,
) = range(13)
OF_EVALUATIONS = (TIMER, EVALUATE_AT, SET_K)  # orders that an evaluation allows

Gradient = namedtuple("Gradient", "number learner version draw begin computed")
Work = namedtuple("Work", "gradients samples epochs")
Evaluation = namedtuple("Evaluation", "loss test_loss test_error")


class Server:
    """What a protocol knows of the parameter server and may order it to do, as sim/server_protocol.h has it."""

    def __init__(self, learners, k, may_evaluate, may_pause, seed):
        self._learners, self._k = learners, k
        self._may_evaluate, self._may_pause, self._seed = may_evaluate, may_pause, seed
        self._version = self._accepted = 0
        self._time = 0.0
        self._idle = set(range(learners))  # but for those whose gradients are held
        self._facts = {}  # of gradients that are computed, as far as they were asked for
        self._open, self._held = {}, {}  # gradients that have arrived
        self._timer = self._evaluation = False  # is to come
        self._evaluates = False  # now
        self._orders = []

    def learners(self):
        return self._learners

    def k(self):
        return self._k

    def version(self):
        return self._version

    def accepted(self):
        return self._accepted

    def time(self):
        return self._time

    def work(self):
        gradients, samples, epochs = self._ask(WORK, 0)[-3:]
        return Work(int(gradients), int(samples), epochs)

    def random(self, number):
        import random  # pylint: disable=import-outside-toplevel

        return random.Random(f"{self._seed} {number}")

    def computing(self, learner):
        self._check_learner("computing", learner)
        if learner in self._idle:
            return None
        if learner not in self._facts:
            there, *facts = self._ask(COMPUTING, learner)
            if not there:
                return None
            self._facts[learner] = gradient_of(facts)
        return self._facts[learner]

    def dispatch(self, learner):
        self._check_learner("dispatch", learner)
        if learner not in self._idle:
            held = any(gradient.learner == learner for gradient in self._held.values())
            raise ValueError(
                f"dispatch: learner {learner} {'has a gradient that is held' if held else 'is not idle'}"
            )
        self._order(DISPATCH, learner)
        self._idle.remove(learner)
        self._facts.pop(learner, None)

    def dispatch_waiting(self):
        if self._held:
            for learner in sorted(self._idle):
                self.dispatch(learner)
            return
        self._order(DISPATCH_WAITING)
        for learner in self._idle:
            self._facts.pop(learner, None)
        self._idle.clear()

    def accept(self, arrival):
        self._settle("accept", ACCEPT, arrival)
        self._accepted += 1

    def drop(self, arrival):
        self._settle("drop", DROP, arrival)

    def hold(self, arrival):
        if arrival.number in self._open and arrival.learner not in self._idle:
            raise ValueError(f"hold: learner {arrival.learner} computes another gradient already")
        self._settle("hold", HOLD, arrival)
        self._held[arrival.number] = arrival
        self._idle.discard(arrival.learner)

    def release(self, held):
        if held.number not in self._held:
            raise ValueError(f"release: the gradient of learner {held.learner} is not held")
        self._order(RELEASE, held.number)
        self._open[held.number] = self._held.pop(held.number)
        self._idle.add(held.learner)

    def cancel(self, gradient):
        computed = self.computing(gradient.learner)
        if computed is None or computed.number != gradient.number:
            raise ValueError(f"cancel: learner {gradient.learner} does not compute that gradient")
        self._order(CANCEL, gradient.learner)
        self._idle.add(gradient.learner)
        del self._facts[gradient.learner]

    def cancel_all(self):
        self._order(CANCEL_ALL)
        held = {gradient.learner for gradient in self._held.values()}
        self._idle = set(range(self._learners)) - held
        self._facts.clear()

    def update(self):
        if not self._accepted:
            raise ValueError("update: no gradient is accepted")
        for gradient in self._open.values():
            raise ValueError(
                f"update: the gradient of learner {gradient.learner} is to be accepted, dropped or held first"
            )
        self._order(UPDATE)
        self._version += 1
        self._accepted = 0

    def apply(self, arrival):
        self.accept(arrival)
        self.update()

    def pause(self, length):
        if not self._may_pause:
            raise ValueError("pause: needs protocol.pauses: true")
        if not 0 <= length < math.inf:
            raise ValueError(f"pause: {length!r} is no length of time")
        self._order(PAUSE, length)

    def timer(self, time):
        self._check_time("timer", time)
        self._order(TIMER, time)
        self._timer = time < math.inf

    def evaluate_at(self, time):
        if not self._may_evaluate:
            raise ValueError("evaluate_at: needs protocol.evaluations: true")
        self._check_time("evaluate_at", time)
        self._order(EVALUATE_AT, time)
        self._evaluation = time < math.inf

    def set_k(self, k):
        if not (k == int(k) and 1 <= k < 1 << 32):
            raise ValueError(f"set_k: {k!r} is no number of gradients")
        self._order(SET_K, k)
        self._k = int(k)

    def _arrive(self, gradient):
        self._open[gradient.number] = gradient
        self._idle.add(gradient.learner)
        self._facts.pop(gradient.learner, None)

    def _check_learner(self, order, learner):
        if not (0 <= learner < self._learners and learner == int(learner)):
            raise ValueError(f"{order}: {learner!r} is no learner, of 0 to {self._learners - 1}")

    def _check_time(self, order, time):
        if not time >= self._time:
            raise ValueError(f"{order}: {time!r} is not now, {self._time!r}, or later")

    def _settle(self, name, order, arrival):
        if arrival.number not in self._open:
            raise ValueError(
                f"{name}: the gradient of learner {arrival.learner} has not just arrived, or was accepted, dropped or held"
            )
        self._order(order, arrival.number)
        del self._open[arrival.number]

    def _order(self, kind, value=0.0):
        if self._evaluates and kind not in OF_EVALUATIONS:
            raise ValueError("on_evaluation may order timer, evaluate_at and set_k alone")
        self._orders += kind, value

    def _ask(self, question, learner):
        self._send(question, learner)
        return MESSAGE.unpack(os.read(CALLS, MESSAGE.size) or os._exit(0))

    def _send(self, question, learner=0):
        answer_bytes(WELL, array.array("d", self._orders).tobytes(), (question, learner, NONE))
        self._orders.clear()

    def _stands_still(self):
        nobody = len(self._idle) + len(self._held) == self._learners
        return nobody and not (self._timer or self._evaluation)


def gradient_of(facts):
    learner, number, version, draw, _, _, begin, computed, _ = facts
    return Gradient(number, learner, version, draw, begin, computed)


def nothing(*_):
    pass


NOTHING = (
    Server.dispatch_waiting,
    None,
    nothing,
    nothing,
    nothing,
    nothing,
)  # where a class has no such function


class Protocol:
    """Answers what happens to a server with an object of the user's class."""

    def __init__(self, user):
        self.user = user
        self.functions = [getattr(user.made, name, None) for name in FUNCTIONS]

    # pylint: disable=protected-access
    def happen(self, server, kind, facts):
        """One event."""
        does = self.functions[kind] or NOTHING[kind]
        if kind == ON_GRADIENT:
            arrival = gradient_of(facts)
            server._arrive(arrival)
            does(server, arrival)
        elif kind in (ON_LOSS, ON_RETURN):
            server._facts.pop(facts[0], None)
            does(server, facts[0])
        elif kind == ON_EVALUATION:
            server._evaluation, server._evaluates = False, True
            does(server, Evaluation(*facts[-3:]))
            server._evaluates = False
        else:
            server._timer = server._timer and kind != ON_TIMER
            does(server)

    def check(self, server, kind):
        """That what is left can go on."""
        for gradient in server._open.values():
            raise self.user.mistake(
                FUNCTIONS[kind],
                f"neither accepts nor drops nor holds the gradient of learner {gradient.learner}",
            )
        if server._stands_still():
            raise self.user.mistake(
                FUNCTIONS[kind],
                f"leaves nobody computing, and no timer, at {server.time():.6g}: nothing would happen any more",
            )

    def serve(self):
        server = None
        while data := os.read(CALLS, MESSAGE.size):
            kind, *facts = MESSAGE.unpack(data)
            if kind == START:
                learners, k, allowed, *seed = facts[:5]
                server = Server(learners, k, allowed & 1, allowed & 2, seed)
            server._time = facts[5]
            try:
                self.happen(server, kind, facts)
            finally:
                self.user.forks.check()
            self.check(server, kind)
            server._send(DONE)


def work(file, text, name, arguments):
    user = UserClass(file, text, name, arguments)
    protocol = Protocol(user)
    user.forks.check()
    if protocol.functions[ON_GRADIENT] is None:
        raise Mistake(f"{file}: class {name} has no on_gradient")
    answer(WELL, user.places(FUNCTIONS))
    protocol.serve()


if __name__ == "__main__":
    run(work)
