"""JAX: a jitted step called from Python, a lax.scan over steps, and the scan of 16 replicas by vmap."""

import math

import jax
import numpy
from jax import numpy as jnp

from peers.gradients.mnist import SHAPES, Arrivals, start, training_rows

VERSION = jax.__version__
EVALUATED = 1000  # rows at a time


def mean_loss(weights, x, y):
    """Of parameters [(W, b), (W, b) ...]."""
    for i, (w, b) in enumerate(weights):
        if w.ndim == 4:
            x = x.reshape(len(x), w.shape[1], *[math.isqrt(x[0].size // w.shape[1])] * 2)
            x = jax.lax.conv(x, w, (1, 1), "VALID", "highest") + b[:, None, None]
            windows, far = (1, 1, 2, 2), -jnp.inf
            x = jax.lax.reduce_window(x, far, jax.lax.max, windows, windows, "VALID")
        else:
            x = jnp.matmul(x.reshape(len(x), -1), w.T, precision="highest") + b
        x = jax.nn.relu(x) if i + 1 < len(weights) else x
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()


class Loop:
    replicas = 1

    def __init__(self, work):
        images, labels = training_rows(work["data"])
        self.x = jnp.asarray(images.astype("f4") / numpy.float32(255))
        self.y = jnp.asarray(labels.astype("i4"))
        self.work = work
        self.first = jax.tree.map(jnp.asarray, start(SHAPES[work["model"]], self.replicas))

    def one(self, value):
        return jax.tree.map(lambda p: p[0], value)

    def gradient_step(self, value, stale, rows):
        gradient = jax.grad(mean_loss)(stale, self.x[rows], self.y[rows])
        return jax.tree.map(lambda p, d: p - self.work["eta"] * d, value, gradient)

    def result(self):
        parts = range(0, len(self.y), EVALUATED)
        loss = jax.jit(jax.vmap(mean_loss, (0, None, None)))
        total = 0.0
        for rows in (slice(begin, begin + EVALUATED) for begin in parts):
            y = self.y[rows]
            total += loss(self.value, self.x[rows], y).mean().item() * len(y)
        return {"updates": self.updates, "loss": total / len(self.y)}


class Jit(Loop):
    def __init__(self, work):
        super().__init__(work)
        self.step = jax.jit(self.gradient_step)

    def advance(self, updates):
        value = self.one(self.first)
        versions = [value] * self.work["learners"]
        for learner, rows in Arrivals(self.work, len(self.y))(updates):
            value = versions[learner] = self.step(value, versions[learner], rows)
        self.updates, self.value = updates, jax.tree.map(lambda p: p[None], value)
        jax.block_until_ready(value)
        return updates


class Scan(Loop):
    """work["scan"] updates in one call."""

    leading = ()  # shape of the replicas in a call

    def __init__(self, work):
        super().__init__(work)
        self.steps = jax.jit(self.scan, donate_argnums=0)

    def scan(self, state, arrivals):
        def update(state, arrival):
            value, versions = state
            learner, rows = arrival
            value = self.gradient_step(value, jax.tree.map(lambda v: v[learner], versions), rows)
            keep = lambda v, p: v.at[learner].set(p)
            return (value, jax.tree.map(keep, versions, value)), None

        return jax.lax.scan(update, state, arrivals)[0]

    def begin(self):
        """The value at the start, and that of each learner."""
        value = jax.tree.map(jnp.copy, self.one(self.first))
        copies = lambda p: jnp.stack([p] * self.work["learners"])
        return value, jax.tree.map(copies, value)

    def advance(self, gradients):
        work, shape = self.work, (*self.leading, self.work["scan"])
        arrivals = Arrivals(work, len(self.y))
        calls = -(-gradients // (work["scan"] * self.replicas))
        state = self.begin()
        for _ in range(calls):
            state = self.steps(state, arrivals.block(*shape))
        self.updates = calls * work["scan"]
        value = jax.block_until_ready(state)[0]
        self.value = value if self.leading else jax.tree.map(lambda p: p[None], value)
        return self.updates * self.replicas


class Vmap(Scan):
    """16 replicas side by side, each with weights and minibatches of its own; counts all gradients."""

    replicas = 16
    leading = (16,)

    def __init__(self, work):
        super().__init__(work)
        self.steps = jax.jit(jax.vmap(self.scan), donate_argnums=0)

    def begin(self):
        value = jax.tree.map(jnp.copy, self.first)
        copies = lambda p: jnp.stack([p] * self.work["learners"], 1)
        return value, jax.tree.map(copies, value)
