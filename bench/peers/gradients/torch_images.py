"""PyTorch at the networks for images of CIFAR-10's shape, as `gradrace list cnn` and `list resnet` define
them: modules, channels last (the faster layout), a gradient after the other, eager and compiled."""

import math

import numpy
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from peers.gradients import torch_loop
from peers.gradients.images import training_rows

VERSION = torch.__version__


class ResponseNormalisation(nn.Module):
    """Within each channel; PyTorch's own is across channels."""

    def forward(self, x):
        return x * (1 + 5e-5 * functional.avg_pool2d(x * x, 3, 1, 1)).pow(-0.75)


def cifar10_full():
    pooling = {"kernel_size": 3, "stride": 2, "ceil_mode": True}
    net = nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2),
        nn.MaxPool2d(**pooling),
        nn.ReLU(),
        ResponseNormalisation(),
        nn.Conv2d(32, 32, 5, padding=2),
        nn.ReLU(),
        nn.AvgPool2d(**pooling),
        ResponseNormalisation(),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.AvgPool2d(**pooling),
        nn.Flatten(),
        nn.Linear(1024, 10),
    )
    return net, lambda weights: 1e-4 if weights.shape[1] == 3 else 1e-2


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.stride, self.added = stride, outputs - inputs
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.first_norm, self.second_norm = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        if self.stride > 1:
            x = x[:, :, :: self.stride, :: self.stride]
            x = functional.pad(x, (0, 0, 0, 0, 0, self.added))
        return torch.relu(x + y)


def resnet(depth):
    blocks = []
    for stage, outputs in enumerate((16, 32, 64)):
        for number in range((depth - 2) // 6):
            shrinks = stage > 0 and number == 0
            blocks.append(Block(outputs // 2 if shrinks else outputs, outputs, 2 if shrinks else 1))
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    return net, lambda weights: math.sqrt(2 / weights[0].numel())


def start(net, sd, number):
    """W as N(0, sd(W)^2), biases 0; what a batch normalisation begins with is PyTorch's own."""
    random = numpy.random.default_rng([1, number])
    for name, parameter in net.named_parameters():
        if parameter.ndim > 1:
            drawn = random.standard_normal(tuple(parameter.shape), "f4")
            parameter.data.copy_(sd(parameter) * torch.from_numpy(drawn))
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)


class Eager(torch_loop.Eager):
    """Parameters are those of the learner; statistics are moved where they are, as an update does."""

    def __init__(self, work):
        torch.set_num_threads(1)
        images, labels = training_rows(work["data"])
        x = torch.tensor(images).float()
        self.x = (x - x.mean(0)).contiguous(memory_format=torch.channels_last)
        self.y = torch.tensor(labels, dtype=torch.int64)
        self.work = work
        is_resnet = work["model"] == "resnet-8"
        self.net, self.sd = resnet(8) if is_resnet else cifar10_full()
        self.net.to(memory_format=torch.channels_last)
        self.names = [name for name, _ in self.net.named_parameters()]
        self.start_from(0)

    def start_from(self, number):
        self.work = self.work | {"start": number}
        start(self.net, self.sd, number)
        self.first = [p.detach().clone() for p in self.net.parameters()]

    def mean_loss(self, flat, x, y):
        scores = functional_call(self.net, dict(zip(self.names, flat)), x)
        return functional.cross_entropy(scores, y)

    def advance(self, updates):
        for module in self.net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.reset_running_stats()
        self.net.train()
        return super().advance(updates)

    def result(self):
        self.net.eval()
        return super().result()


class Compiled(Eager):
    """The loss and its gradient by torch.compile."""

    def __init__(self, work):
        super().__init__(work)
        self.compiled = torch.compile(super().mean_loss, dynamic=False)

    def mean_loss(self, flat, x, y):
        return (self.compiled if self.net.training else super().mean_loss)(flat, x, y)
