"""The NumPy loop: forward and backward by hand, every product a matrix product."""

import numpy
from numpy.lib.stride_tricks import sliding_window_view

from peers.gradients.mnist import SHAPES, Arrivals, start, training_rows

VERSION = numpy.__version__
EVALUATED = 1000  # rows at a time


class Dense:
    def __init__(self, weights, bias):
        self.first = [numpy.ascontiguousarray(weights.T), bias]

    def forward(self, x, parameters):
        return x @ parameters[0] + parameters[1]

    def backward(self, x, by_y, parameters, wants_by_x):
        return [x.T @ by_y, by_y.sum(0)], by_y @ parameters[0].T if wants_by_x else None


class Convolution:
    """Valid convolution of [rows, height, width, channels] as a product of patches, then the
    greatest of each 2 x 2."""

    def __init__(self, weights, bias):
        self.outputs, self.inputs, self.kernel = weights.shape[:3]
        self.first = [numpy.ascontiguousarray(weights.reshape(self.outputs, -1).T), bias]

    def forward(self, x, parameters):
        windows = sliding_window_view(x, (self.kernel, self.kernel), (1, 2))
        self.patches = windows.reshape(-1, parameters[0].shape[0])
        y = self.patches @ parameters[0] + parameters[1]
        self.y = y.reshape(*windows.shape[:3], self.outputs)
        corners = [self.y[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        self.pooled = numpy.maximum(
            numpy.maximum(corners[0], corners[1]), numpy.maximum(corners[2], corners[3])
        )
        return self.pooled

    def backward(self, x, by_pooled, parameters, wants_by_x):
        by_y = numpy.empty_like(self.y)
        for i, j in (0, 0), (0, 1), (1, 0), (1, 1):
            corner = by_y[:, i::2, j::2]
            numpy.multiply(by_pooled, self.y[:, i::2, j::2] == self.pooled, out=corner)
            by_pooled = by_pooled - corner  # the first of equals takes all, as elsewhere
        flat = by_y.reshape(-1, self.outputs)
        gradient = [self.patches.T @ flat, flat.sum(0)]
        if not wants_by_x:
            return gradient, None
        by_patches = flat @ parameters[0].T
        by_patches = by_patches.reshape(*self.y.shape[:3], self.inputs, self.kernel, self.kernel)
        by_x = numpy.zeros_like(x)
        height, width = self.y.shape[1:3]
        for i in range(self.kernel):
            for j in range(self.kernel):
                by_x[:, i : i + height, j : j + width] += by_patches[..., i, j]
        return gradient, by_x


def layer_of(weights, bias):
    return Convolution(weights, bias) if weights.ndim == 4 else Dense(weights, bias)


def fits(x, layer):
    """The output of one layer as the input of the next; channels come before pixels for the first
    dense layer, as everywhere else."""
    if isinstance(layer, Convolution):
        return x if x.ndim == 4 else x.reshape(len(x), 28, 28, 1)
    return x if x.ndim == 2 else x.transpose(0, 3, 1, 2).reshape(len(x), -1)


def unfits(by_x, output):
    """The derivative by the output of the layer before."""
    if by_x.ndim == output.ndim:
        return by_x
    rows, height, width, channels = output.shape
    return by_x.reshape(rows, channels, height, width).transpose(0, 2, 3, 1)


class Loop:
    def __init__(self, work):
        images, self.y = training_rows(work["data"])
        self.x = images.astype("f4") / numpy.float32(255)
        self.layers = [layer_of(w[0], b[0]) for w, b in start(SHAPES[work["model"]], 1)]
        self.work = work
        self.each = numpy.arange(work["minibatch"])

    def forward(self, x, parameters):
        """Inputs of the layers, and the scores."""
        inputs = []
        for layer, p in zip(self.layers, parameters):
            inputs.append(fits(x, layer))
            x = layer.forward(inputs[-1], p)
            if layer is not self.layers[-1]:
                x = numpy.maximum(x, 0)
        return inputs, x

    def gradient(self, parameters, rows):
        inputs, scores = self.forward(self.x.take(rows, 0), parameters)
        scores -= scores.max(1, keepdims=True)
        by_y = numpy.exp(scores, out=scores)
        by_y /= by_y.sum(1, keepdims=True) * numpy.float32(len(rows))
        by_y[self.each, self.y[rows]] -= numpy.float32(1 / len(rows))
        gradients = []
        for i in reversed(range(len(self.layers))):
            gradient, by_x = self.layers[i].backward(inputs[i], by_y, parameters[i], i > 0)
            gradients.append(gradient)
            if i > 0:
                by_y = by_x * (inputs[i] > 0)
                if isinstance(self.layers[i - 1], Convolution):
                    by_y = unfits(by_y, self.layers[i - 1].pooled)
        return gradients[::-1]

    def advance(self, updates):
        value = [layer.first for layer in self.layers]
        versions = [value] * self.work["learners"]
        eta = numpy.float32(self.work["eta"])
        for learner, rows in Arrivals(self.work, len(self.y))(updates):
            gradient = self.gradient(versions[learner], rows)
            value = [[p - eta * d for p, d in zip(*both)] for both in zip(value, gradient)]
            versions[learner] = value
        self.updates, self.value = updates, value
        return updates

    def result(self):
        total = 0.0
        for begin in range(0, len(self.y), EVALUATED):
            labels = self.y[begin : begin + EVALUATED]
            scores = self.forward(self.x[begin : begin + EVALUATED], self.value)[1].astype("f8")
            scores -= scores.max(1, keepdims=True)
            of_label = scores[numpy.arange(len(labels)), labels]
            total += (numpy.log(numpy.exp(scores).sum(1)) - of_label).sum()
        return {"updates": self.updates, "loss": total / len(self.y)}
