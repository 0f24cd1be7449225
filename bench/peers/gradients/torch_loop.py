"""PyTorch: a gradient after the other, eager and compiled."""

import math

import torch

from peers.gradients.mnist import SHAPES, Arrivals, start, training_rows

VERSION = torch.__version__
EVALUATED = 1000  # rows at a time


def mean_loss(flat, x, y):
    """Of parameters [W, b, W, b ...]."""
    functional, layers = torch.nn.functional, len(flat) // 2
    for i, (w, b) in enumerate(zip(flat[::2], flat[1::2])):
        if w.ndim == 4:
            x = x.reshape(len(x), w.shape[1], *[math.isqrt(x[0].numel() // w.shape[1])] * 2)
            x = functional.max_pool2d(functional.conv2d(x, w, b), 2)
        else:
            x = functional.linear(x.flatten(1), w, b)
        x = torch.relu(x) if i + 1 < layers else x
    return functional.cross_entropy(x, y)


class Loop:
    mean_loss = staticmethod(mean_loss)

    def __init__(self, work):
        torch.set_num_threads(1)
        images, labels = training_rows(work["data"])
        self.x = torch.tensor(images).float() / 255
        self.y = torch.tensor(labels, dtype=torch.int64)
        layers = start(SHAPES[work["model"]], 1)
        self.first = [torch.tensor(p[0]) for layer in layers for p in layer]
        self.work = work

    def advance(self, updates):
        value = self.first
        versions = [value] * self.work["learners"]
        for learner, rows in Arrivals(self.work, len(self.y))(updates):
            value = versions[learner] = self.step(value, versions[learner], torch.from_numpy(rows))
        self.updates, self.value = updates, value
        return updates

    def result(self):
        parts = zip(self.x.split(EVALUATED), self.y.split(EVALUATED))
        with torch.no_grad():
            total = sum(self.mean_loss(self.value, x, y).item() * len(y) for x, y in parts)
        return {"updates": self.updates, "loss": total / len(self.y)}


class Eager(Loop):
    """Autograd by the book."""

    def step(self, value, stale, rows):
        at = [p.detach().requires_grad_() for p in stale]
        gradient = torch.autograd.grad(self.mean_loss(at, self.x[rows], self.y[rows]), at)
        return [torch.sub(p, d, alpha=self.work["eta"]) for p, d in zip(value, gradient)]


class Compiled(Loop):
    """A whole step, its rows and its update included, in one graph of torch.compile."""

    def __init__(self, work):
        super().__init__(work)
        eta = work["eta"]

        def step(value, stale, x, y, rows):
            gradient = torch.func.grad(mean_loss)(stale, x[rows], y[rows])
            return [p - eta * d for p, d in zip(value, gradient)]

        self.compiled = torch.compile(step, fullgraph=True, dynamic=False)

    def step(self, value, stale, rows):
        with torch.no_grad():
            return self.compiled(value, stale, self.x, self.y, rows)
