"""Block SUMMA in d layers of q x q devices: products of matrices by messages, which are counted.

X and Y stand in blocks [layer][row][column], rows divided over layers and rows of devices; A stands in blocks
[row][column] in every layer. All groups of a hop send at once: a hop counts as one message, of its largest block."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Hops:
    """What stands on the critical path: messages one after another, and the numbers in them."""

    by_ring: bool = False
    messages: int = 0
    numbers: float = 0

    def add(self, block):
        self.messages += 1
        self.numbers += block.size

    def spread(self, roots, q):
        """[copies of each root's block at q devices], down a tree or around a ring."""
        groups = [[root] for root in roots]
        while len(groups[0]) < q:
            self.add(roots[0])
            for group in groups:
                group += [
                    one.copy() for one in (group[-1:] if self.by_ring else group[: q - len(group)])
                ]
        return groups

    def collect(self, groups):
        """[sum of each group's blocks at its first device], the same way back."""
        groups = [list(group) for group in groups]
        while len(groups[0]) > 1:
            self.add(groups[0][0])
            half = len(groups[0]) - 1 if self.by_ring else -(-len(groups[0]) // 2)
            groups = [
                [
                    one + group[half + i] if half + i < len(group) else one
                    for i, one in enumerate(group[:half])
                ]
                if not self.by_ring
                else [*group[: half - 1], group[half - 1] + group[half]]
                for group in groups
            ]
        return [group[0] for group in groups]

    def all_reduce(self, vectors):
        """The sum at every device, in parts around a ring."""
        p = len(vectors)
        parts = [np.array_split(vector.astype(float), p) for vector in vectors]
        for adds in (True, False):
            for step in range(p - 1):
                first = 0 if adds else 1
                sent = [parts[i][(i + first - step) % p].copy() for i in range(p)]
                self.add(sent[0])
                for i in range(p):
                    at, part = (i + 1) % p, (i + first - step) % p
                    parts[at][part] = parts[at][part] + sent[i] if adds else sent[i]
        return [np.concatenate(one) for one in parts]


class Grid:
    """q x q devices in each of d layers."""

    def __init__(self, q, d, hops):
        self.q, self.d, self.hops = q, d, hops

    def split(self, X):
        """The blocks of X or Y."""
        layers = [np.split(layer, self.q) for layer in np.split(X, self.d)]
        return [[np.split(row, self.q, axis=1) for row in layer] for layer in layers]

    def split_weights(self, A):
        return [np.split(row, self.q, axis=1) for row in np.split(A, self.q)]

    @staticmethod
    def join(blocks):
        """The matrix of blocks of X or Y."""
        return np.concatenate([np.block(layer) for layer in blocks])

    def _along_rows(self, X, k):
        """[layer][row][column]: the block of column k of its row."""
        copies = iter(self.hops.spread([row[k] for layer in X for row in layer], self.q))
        return [[next(copies) for _ in layer] for layer in X]

    def _along_columns(self, A, k):
        """[column][row]: the block of row k of its column, in every layer at once."""
        return self.hops.spread(A[k], self.q)

    def _places(self):
        return [(i, j) for i in range(self.q) for j in range(self.q)]

    def forward(self, X, A):
        """X A."""
        Y = [[[0] * self.q for _ in range(self.q)] for _ in range(self.d)]
        for k in range(self.q):
            x, a = self._along_rows(X, k), self._along_columns(A, k)
            for layer in range(self.d):
                for i, j in self._places():
                    Y[layer][i][j] = Y[layer][i][j] + x[layer][i][j] @ a[j][i]
        return Y

    def inputs(self, dY, A):
        """dY A^T."""
        dX = [[[0] * self.q for _ in range(self.q)] for _ in range(self.d)]
        for k in range(self.q):
            a = self._along_columns(A, k)
            rows = [
                [dY[layer][i][j] @ a[j][i].T for j in range(self.q)]
                for layer in range(self.d)
                for i in range(self.q)
            ]
            for place, found in enumerate(self.hops.collect(rows)):
                dX[place // self.q][place % self.q][k] = found
        return dX

    def weights(self, X, dY):
        """X^T dY of each layer's rows, [layer][row][column]."""
        dA = [[[0] * self.q for _ in range(self.q)] for _ in range(self.d)]
        for k in range(self.q):
            x = self._along_rows(X, k)
            columns = [
                [x[layer][i][j].T @ dY[layer][i][j] for i in range(self.q)]
                for layer in range(self.d)
                for j in range(self.q)
            ]
            for place, found in enumerate(self.hops.collect(columns)):
                dA[place // self.q][k][place % self.q] = found
        return dA

    def over_depth(self, gradients):
        """The sums over layers of all gradients of weights, whose blocks a device sends at once."""
        summed = [
            [[[None] * self.q for _ in range(self.q)] for _ in gradients] for _ in range(self.d)
        ]
        start = self.hops.messages, self.hops.numbers
        for i, j in self._places():
            self.hops.messages, self.hops.numbers = start  # all do it at once
            vectors = [
                np.concatenate([dA[layer][i][j].ravel() for dA in gradients])
                for layer in range(self.d)
            ]
            for layer, vector in enumerate(self.hops.all_reduce(vectors)):
                for which, dA in enumerate(gradients):
                    shape = dA[0][i][j].shape
                    summed[layer][which][i][j] = vector[: math.prod(shape)].reshape(shape)
                    vector = vector[math.prod(shape) :]
        return [np.block(one) for one in summed[-1]]


def weights_of(hidden):
    """Shapes of a transformer layer's matrices."""
    return [(hidden, 3 * hidden), (hidden, hidden), (hidden, 4 * hidden), (4 * hidden, hidden)]


def layer_errors(q, d, tokens, hidden, passes, hops, seed=1):
    """{product: relative error against the dense one} of all products of a layer."""
    random, grid = np.random.default_rng(seed), Grid(q, d, hops)
    errors, gradients, dense = {"AB": 0.0, "ABt": 0.0, "AtB": 0.0}, [], []

    def compare(product, found, expected):
        error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        errors[product] = max(errors[product], error)

    for inputs, outputs in weights_of(hidden):
        X, A = random.normal(size=(tokens, inputs)), random.normal(size=(inputs, outputs))
        dY = random.normal(size=(tokens, outputs))
        x, a, dy = grid.split(X), grid.split_weights(A), grid.split(dY)
        for _ in range(2 if passes == "recompute" else 1):
            compare("AB", grid.join(grid.forward(x, a)), X @ A)
        if passes != "forward":
            compare("ABt", grid.join(grid.inputs(dy, a)), dY @ A.T)
            gradients.append(grid.weights(x, dy))
            dense.append(X.T @ dY)
    for found, expected in zip(grid.over_depth(gradients) if gradients else [], dense):
        compare("AtB", found, expected)
    return errors


def megatron_error(p, tokens, hidden, passes, hops, seed=1):
    """Relative error of a layer's two pairs of products (X A) B, whose A has columns and whose B has rows
    divided over p devices in a row, and of the gradients by X, each of which takes an all-reduce."""
    random, worst = np.random.default_rng(seed), 0.0

    def total(parts, dense):
        found = hops.all_reduce([one.ravel() for one in parts])[-1].reshape(dense.shape)
        return float(np.linalg.norm(found - dense) / np.linalg.norm(dense))

    for inner in (hidden, 4 * hidden):
        X, A, B = (
            random.normal(size=size)
            for size in ((tokens, hidden), (hidden, inner), (inner, hidden))
        )
        dZ = random.normal(size=(tokens, hidden))
        shares = list(zip(np.array_split(A, p, axis=1), np.array_split(B, p)))
        for _ in range(2 if passes == "recompute" else 1):
            worst = max(worst, total([X @ a @ b for a, b in shares], X @ A @ B))
        if passes != "forward":
            worst = max(worst, total([dZ @ b.T @ a.T for a, b in shares], dZ @ B.T @ A.T))
    return worst
