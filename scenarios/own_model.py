"""A model of one's own in NumPy: phase retrieval, that is w (up to its sign) from squares of what it measures."""

import numpy as np

np.seterr(all="ignore")  # in runs that diverge


class PhaseRetrieval:
    def __init__(self, rows=2000, test_rows=500, features=20, noise=0.1):
        draw = np.random.default_rng(1)  # the same data in each process
        true = draw.normal(size=features) / np.sqrt(features)
        self.x = draw.normal(size=(rows + test_rows, features))
        self.y = (self.x @ true) ** 2 + noise * draw.normal(size=rows + test_rows)
        self.rows, self.features = rows, features

    def initial(self, seed):
        return np.random.default_rng(seed).normal(size=self.features) / np.sqrt(self.features)

    def gradient(self, w, rows):
        x = self.x[rows]
        s = x @ w
        return x.T @ ((s * s - self.y[rows]) * s) / len(rows)

    def loss(self, w, part):
        return np.mean(((self.x[part] @ w) ** 2 - self.y[part]) ** 2) / 4

    def evaluate(self, w):
        return self.loss(w, slice(self.rows)), self.loss(w, slice(self.rows, None))
