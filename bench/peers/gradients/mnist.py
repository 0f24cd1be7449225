"""What the peers with gradients share: MNIST's rows, the weights at the start, who computes what."""

import gzip
import math
from pathlib import Path

import numpy

# Weights of the layers: [outputs, inputs] or, of a convolution, [outputs, inputs, height, width].
SHAPES = {
    "softmax": [(10, 784)],
    "mlp": [(128, 784), (10, 128)],
    "lenet": [(6, 1, 5, 5), (16, 6, 5, 5), (120, 256), (84, 120), (10, 84)],
}


def idx(path):
    file = path if path.exists() else path.with_name(path.name + ".gz")
    opened = gzip.open(file) if file.suffix == ".gz" else open(file, "rb")
    with opened as stream:
        data = stream.read()
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">u4", dimensions, 4)
    return numpy.frombuffer(data, "u1", offset=4 + 4 * dimensions).reshape(shape)


def training_rows(folder):
    """Bytes [rows, 784] and labels of the training set."""
    images = idx(Path(folder) / "train-images-idx3-ubyte")
    return images.reshape(len(images), -1), idx(Path(folder) / "train-labels-idx1-ubyte")


def start(shapes, replicas):
    """Of each layer, for all replicas: W as N(0, 2 / inputs), 0 without hidden layers, and b = 0."""
    random = numpy.random.default_rng(1)
    sd = lambda shape: (2 / math.prod(shape[1:])) ** 0.5 if len(shapes) > 1 else 0
    normal = lambda shape: (
        random.standard_normal((replicas, *shape), "f4") * numpy.float32(sd(shape))
    )
    return [(normal(shape), numpy.zeros((replicas, shape[0]), "f4")) for shape in shapes]


class Arrivals:
    """Which learner comes next, and the rows of its minibatch.  With exponential runtimes each is the
    next with the same probability, so the peers need no clock.  The same for all peers, in blocks of
    any size; others with work["start"], where it is there and not 0."""

    BLOCK = 256

    def __init__(self, work, rows):
        start = work.get("start", 0)
        self.of_learners, self.of_rows = (numpy.random.default_rng([k, start]) for k in (2, 3))
        self.learners, self.rows, self.minibatch = work["learners"], rows, work["minibatch"]

    def block(self, *shape):
        """Learners [*shape] and rows [*shape, minibatch]."""
        learners = self.of_learners.integers(self.learners, size=shape, dtype="i4")
        return learners, self.of_rows.integers(self.rows, size=(*shape, self.minibatch), dtype="i4")

    def __call__(self, updates):
        """(learner, its rows) of so many updates."""
        for begin in range(0, updates, self.BLOCK):
            learners, rows = self.block(min(self.BLOCK, updates - begin))
            yield from zip(learners.tolist(), rows)
