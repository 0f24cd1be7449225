"""A network in PyTorch for gradrace: a small CNN that tells the angle of a bar in noise."""

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

SIZE, ANGLES = 12, 4


def made(draw, rows, noise):
    """Images [rows, 1, SIZE, SIZE], each with a bar at one of the angles, not far from the middle, and the angles."""
    angle = draw.integers(ANGLES, size=rows)
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    across = [np.cos(a) * x + np.sin(a) * y for a in np.pi * np.arange(ANGLES) / ANGLES]
    shift = draw.uniform(-2, 2, size=(rows, 1, 1))
    images = np.exp(-((np.array(across)[angle] - shift) ** 2))
    images += noise * draw.normal(size=images.shape)
    return torch.from_numpy(images[:, None].astype("f4")), torch.from_numpy(angle)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 3 * 3, ANGLES),
    )  # fmt: skip


class SmallCnn:
    def __init__(self, rows=2000, test_rows=500, noise=0.5):
        draw = np.random.default_rng(1)  # the same data in each process
        self.train, self.test = made(draw, rows, noise), made(draw, test_rows, noise)
        self.rows, self.net = rows, network()

    def initial(self, seed):
        torch.manual_seed(seed)
        return parameters_to_vector(network().parameters()).detach()

    def gradient(self, w, rows):
        vector_to_parameters(torch.from_numpy(w), self.net.parameters())
        self.net.zero_grad()
        images, angles = self.train
        nn.functional.cross_entropy(self.net(images[rows]), angles[rows]).backward()
        return parameters_to_vector([p.grad for p in self.net.parameters()])

    @torch.no_grad()
    def evaluate(self, w):
        vector_to_parameters(torch.from_numpy(w), self.net.parameters())
        train, test = self.net(self.train[0][:500]), self.net(self.test[0])
        loss, test_loss = (
            nn.functional.cross_entropy(out, angles[:500])
            for out, angles in ((train, self.train[1]), (test, self.test[1]))
        )
        return loss, test_loss, (test.argmax(1) != self.test[1]).float().mean()
