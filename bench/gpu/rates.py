"""gradrace on bench/gpu/*.json beside the loops that people would otherwise write in PyTorch and JAX.

Async SGD of P = 8 learners with exponential runtimes, minibatch 32, on MNIST; all gradients in
float32.  With such runtimes each arrival is of any learner with the same probability, so the loops
draw it and need no clock.  The networks for made-up images of CIFAR-10's shape (cnn_32_64 with
minibatch 32, resnets with 128) are plain SGD of one learner in PyTorch.  One line of CSV for each peer
and model.

A rate is a slope: replicas x (longer - shorter) / (seconds of longer - seconds of shorter), where
longer and shorter are numbers of updates and seconds are medians of --repeat calls after one that is
not counted.  Start-up, reading, compilation and evaluation are in both and cancel.  Weights are drawn
and on the device before the clock starts.  The training loss of the longer run, over at most 1,000
rows and 16 replicas of the loops, shows that the work was done: the peers differ by chance.
"""

import argparse
import csv
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from peers.gradients.mnist import SHAPES as LAYERS
from peers.gradients.mnist import start, training_rows

LEARNERS, MINIBATCH, ETA, EVALUATED = 8, 32, 0.05, 1000
SHAPES = {name: LAYERS[name] for name in ("softmax", "mlp", "lenet")}
IMAGES = {"cnn_32_64": 32, "resnet20": 128, "resnet32": 128}  # their minibatches
# Updates of the shorter and the longer call, for about a second between them on an H200 at its goals.
LENGTHS = {
    "gradrace": {
        "softmax": (10_000, 60_000),
        "mlp": (1_000, 5_000),
        "lenet": (500, 3_000),
        "cnn_32_64": (50, 300),
        "resnet20": (10, 110),
        "resnet32": (10, 60),
    },
    "vmap": {"softmax": (1_000, 6_000), "mlp": (500, 2_500), "lenet": (100, 600)},
    "graphs": {
        "softmax": (1_000, 6_000),
        "mlp": (500, 2_500),
        "lenet": (100, 600),
        "cnn_32_64": (20, 220),
        "resnet20": (10, 110),
        "resnet32": (10, 60),
    },
    "eager": {"softmax": (500, 2_500), "mlp": (500, 2_500), "lenet": (500, 2_500)},
}
REPLICAS = {
    "softmax": 1024,
    "mlp": 1024,
    "lenet": 128,
    "cnn_32_64": 64,
    "resnet20": 4,
    "resnet32": 4,
}
# What gradrace is told by --set.
RULES = {
    "plain": [],
    "momentum": ['optimiser={"momentum": 0.9}', "learning_rate.eta=0.005"],
    "adam": ['optimiser={"kind": "adam"}', "learning_rate.eta=0.001"],
    "averages": ['protocol={"kind": "local-sgd", "tau": 8}'],
}


class Gradrace:
    """The program itself, a process for each call."""

    def __init__(self, options):
        self.options = options
        self.out = tempfile.TemporaryDirectory()

    def version(self):
        command = [self.options.gradrace, "--version"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return told.split("\n")[0].removeprefix("gradrace ")

    def gradrace(self, model, replicas):
        folder = pathlib.Path(self.out.name) / model

        def work(updates):
            command = [
                self.options.gradrace,
                "run",
                pathlib.Path(__file__).with_name(f"{model}.json"),
            ]
            command += ["--device", self.options.device, "--data", self.options.mnist.parent]
            command += ["--replicas", str(replicas), "--force", "--quiet", "--out", folder]
            sets = [f"stop.updates={updates}", f"record.every_updates={updates}"]
            for change in sets + RULES[self.options.rule]:
                command += ["--set", change]
            subprocess.run(command, check=True, stdout=sys.stderr)

        def loss(_):
            with open(folder / "runs.csv") as file:
                return statistics.fmean(float(run["final_loss"]) for run in csv.DictReader(file))

        return work, loss


class Torch:
    def __init__(self, options):
        import torch

        torch.backends.cudnn.allow_tf32 = False
        self.torch, self.device = torch, options.device
        x, y = training_rows(options.mnist)
        self.x = torch.tensor(x, device=self.device)
        self.y = torch.tensor(y, device=self.device, dtype=torch.int64)

    def version(self):
        return self.torch.__version__

    def rows(self, numbers):
        return self.x[numbers].float() / 255

    def loss(self, flat, x, y):
        functional, layers = self.torch.nn.functional, len(flat) // 2
        for i, (w, b) in enumerate(zip(flat[::2], flat[1::2])):
            if w.ndim == 4:
                x = x.reshape(len(x), w.shape[1], *[math.isqrt(x[0].numel() // w.shape[1])] * 2)
                x = functional.max_pool2d(functional.conv2d(x, w, b), 2)
            else:
                x = x.flatten(1) @ w.mT + b
            x = self.torch.relu(x) if i + 1 < layers else x
        return functional.cross_entropy(x, y)

    def parameters(self, model, replicas):
        layers = start(SHAPES[model], replicas)
        return [self.torch.tensor(p, device=self.device) for layer in layers for p in layer]

    def finish(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def mean_loss(self, w):
        of = lambda r: self.loss([p[r] for p in w], self.rows(slice(EVALUATED)), self.y[:EVALUATED])
        return statistics.fmean(of(r).item() for r in range(min(len(w[0]), 16)))

    def eager(self, model, replicas):
        """The loop by the book: one replica, a gradient after the other."""
        torch = self.torch
        first = [p[0] for p in self.parameters(model, 1)]

        def work(updates):
            w, versions = first, [first] * LEARNERS
            for learner in numpy.random.default_rng(1).integers(LEARNERS, size=updates):
                numbers = torch.randint(len(self.y), (MINIBATCH,), device=self.device)
                at = [p.detach().requires_grad_() for p in versions[learner]]
                g = torch.autograd.grad(self.loss(at, self.rows(numbers), self.y[numbers]), at)
                w = versions[learner] = [p - ETA * d for p, d in zip(w, g)]
            self.finish()
            return [p[None] for p in w]

        return work, self.mean_loss

    def graphs(self, model, replicas):
        """All replicas in one step, which is captured once and launched for every update."""
        torch = self.torch
        each = torch.arange(replicas, device=self.device)
        starts = self.parameters(model, replicas)
        w = [p.clone() for p in starts]
        versions = [torch.stack([p] * LEARNERS, 1) for p in w]
        gradients = torch.func.vmap(torch.func.grad(self.loss))

        def step():
            learner = torch.randint(LEARNERS, (replicas,), device=self.device)
            numbers = torch.randint(len(self.y), (replicas, MINIBATCH), device=self.device)
            g = gradients([v[each, learner] for v in versions], self.rows(numbers), self.y[numbers])
            for p, v, d in zip(w, versions, g):
                p.sub_(d, alpha=ETA)
                v[each, learner] = p

        if self.device == "cuda":
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                step()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
        launch = graph.replay if self.device == "cuda" else step

        def work(updates):
            for p, v, first in zip(w, versions, starts):
                p.copy_(first)
                v.copy_(first[:, None].expand_as(v))
            for _ in range(updates):
                launch()
            self.finish()
            return w

        return work, self.mean_loss


class TorchImages:
    """Networks of modules, as PyTorch's users have them; a graph has a step of each, side by side."""

    def __init__(self, options):
        import torch

        torch.backends.cudnn.allow_tf32 = False
        self.torch, self.device = torch, options.device

    def version(self):
        return self.torch.__version__

    def network(self, model):
        from peers.gradients.torch_images import resnet

        nn = self.torch.nn
        if model != "cnn_32_64":
            return resnet(int(model.removeprefix("resnet")))[0]
        layers = [nn.Conv2d(3, 32, 3), nn.MaxPool2d(2), nn.ReLU()]
        layers += [nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten()]
        return nn.Sequential(*layers, nn.Linear(2304, 128), nn.ReLU(), nn.Linear(128, 10))

    def training(self, model):
        """A step of a replica; its loss is left in the returned tensor."""
        torch, minibatch = self.torch, IMAGES[model]
        net = self.network(model).to(self.device)
        x = torch.randn(minibatch, 3, 32, 32, device=self.device)
        y = torch.randint(10, (minibatch,), device=self.device)
        parameters, left = list(net.parameters()), torch.zeros((), device=self.device)

        def step():
            loss = torch.nn.functional.cross_entropy(net(x), y)
            g = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                torch._foreach_add_(parameters, list(g), alpha=-ETA)
                left.copy_(loss)

        return step, left

    def graphs(self, model, replicas):
        torch = self.torch
        steps, losses = zip(*(self.training(model) for _ in range(replicas)))
        launch = (
            self.captured(steps) if self.device == "cuda" else lambda: [step() for step in steps]
        )

        def work(updates):
            for _ in range(updates):
                launch()
            if self.device == "cuda":
                torch.cuda.synchronize()
            return losses

        return work, lambda made: statistics.fmean(loss.item() for loss in made)

    def captured(self, steps):
        cuda = self.torch.cuda
        streams = [cuda.Stream() for _ in steps]
        streams[0].wait_stream(cuda.current_stream())
        with cuda.stream(streams[0]):
            for step in steps:
                step()
                step()
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            main = cuda.current_stream()
            for step, stream in zip(steps, streams):
                stream.wait_stream(main)
                with cuda.stream(stream):
                    step()
            for stream in streams:
                main.wait_stream(stream)
        return graph.replay


class Jax:
    def __init__(self, options):
        import jax

        self.jax = jax
        self.device = jax.devices("gpu" if options.device == "cuda" else "cpu")[0]
        x, y = training_rows(options.mnist)
        self.x = jax.device_put(x, self.device)
        self.y = jax.device_put(y.astype("i4"), self.device)

    def version(self):
        return self.jax.__version__

    def loss(self, weights, x, y):
        jax, numpy = self.jax, self.jax.numpy
        x = x.astype(numpy.float32) / 255
        for i, (w, b) in enumerate(weights):
            if w.ndim == 4:
                x = x.reshape(len(x), w.shape[1], *[math.isqrt(x[0].size // w.shape[1])] * 2)
                x = jax.lax.conv(x, w, (1, 1), "VALID", "highest") + b[:, None, None]
                windows, far = (1, 1, 2, 2), -numpy.inf
                x = jax.lax.reduce_window(x, far, jax.lax.max, windows, windows, "VALID")
            else:
                x = numpy.matmul(x.reshape(len(x), -1), w.T, precision="highest") + b
            x = jax.nn.relu(x) if i + 1 < len(weights) else x
        return -jax.nn.log_softmax(x)[numpy.arange(len(y)), y].mean()

    def vmap(self, model, replicas):
        """A replica is a lax.scan over its updates; vmap runs all side by side."""
        jax = self.jax
        w = jax.device_put(start(SHAPES[model], replicas), self.device)
        keys = jax.device_put(jax.random.split(jax.random.key(1), replicas), self.device)
        run = jax.jit(jax.vmap(self.run, (0, 0, None)), static_argnums=2)
        work = lambda updates: jax.block_until_ready(run(w, keys, updates))

        def mean_loss(w):
            some = jax.tree.map(lambda p: p[:16], w)
            x, y = self.x[:EVALUATED], self.y[:EVALUATED]
            return jax.vmap(lambda v: self.loss(v, x, y))(some).mean().item()

        return work, mean_loss

    def run(self, w, key, updates):
        jax, numpy = self.jax, self.jax.numpy

        def update(state, key):
            w, versions = state
            of_learner, of_rows = jax.random.split(key)
            learner = jax.random.randint(of_learner, (), 0, LEARNERS)
            rows = jax.random.randint(of_rows, (MINIBATCH,), 0, len(self.y))
            at = jax.tree.map(lambda v: v[learner], versions)
            g = jax.grad(self.loss)(at, self.x[rows], self.y[rows])
            w = jax.tree.map(lambda p, d: p - ETA * d, w, g)
            return (w, jax.tree.map(lambda v, p: v.at[learner].set(p), versions, w)), None

        versions = jax.tree.map(lambda p: numpy.stack([p] * LEARNERS), w)
        return jax.lax.scan(update, (w, versions), jax.random.split(key, updates))[0][0]


def median_seconds(work, updates, repeat):
    """Of `repeat` calls after one that is not counted, and what the last one made."""
    work(updates)
    seconds = []
    for _ in range(repeat):
        begin = time.perf_counter()
        made = work(updates)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), made


def slope(replicas, lengths, seconds):
    """Gradients a second; NaN where the longer call took no longer."""
    more = seconds[1] - seconds[0]
    return replicas * (lengths[1] - lengths[0]) / more if more > 0 else math.nan


PEERS = {"gradrace": Gradrace, "vmap": Jax, "graphs": Torch, "eager": Torch}
COLUMNS = [
    "peer",
    "version",
    "model",
    "rule",
    "device",
    "replicas",
    "updates",
    "seconds",
    "gradients_per_second",
    "loss",
]


def peer_at(name, model):
    return TorchImages if name == "graphs" and model in IMAGES else PEERS[name]


def replicas_of(name, model, options):
    """Of PyTorch 16 at most where each has a stream of its own."""
    most = 16 if peer_at(name, model) is TorchImages else math.inf
    return 1 if name == "eager" else min(options.replicas or REPLICAS[model], most)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mnist", type=pathlib.Path, help="folder mnist, with the four IDX files")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--models", nargs="+", choices=REPLICAS, default=list(REPLICAS))
    parser.add_argument("--rule", choices=RULES, default="plain", help="of gradrace's updates")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument(
        "--gradrace", default="build/release/gradrace", help="program (default %(default)s)"
    )
    parser.add_argument("--replicas", type=int, help="side by side (default: the scenario's)")
    parser.add_argument("--updates", type=int, nargs=2, help="of the shorter and the longer call")
    parser.add_argument("--repeat", type=int, default=3, help="calls measured (default 3)")
    options = parser.parse_args()
    if options.rule != "plain" and options.peers != ["gradrace"]:
        parser.error("--rule is of --peers gradrace alone")
    table = csv.DictWriter(sys.stdout, COLUMNS)
    table.writeheader()
    for name in options.peers:
        for model in (model for model in options.models if model in LENGTHS[name]):
            peer = peer_at(name, model)(options)
            table.writerow(measured(peer, name, model, options))
            sys.stdout.flush()


def measured(peer, name, model, options):
    """A row of the table."""
    replicas = replicas_of(name, model, options)
    work, loss = getattr(peer, name)(model, replicas)
    lengths = options.updates or LENGTHS[name][model]
    seconds, made = zip(*(median_seconds(work, u, options.repeat) for u in lengths))
    both = lambda pair, form: " ".join(format(x, form) for x in pair)
    return {
        "peer": name,
        "version": peer.version(),
        "model": model,
        "rule": options.rule,
        "device": options.device,
        "replicas": replicas,
        "updates": both(lengths, ""),
        "seconds": both(seconds, ".4g"),
        "gradients_per_second": f"{slope(replicas, lengths, seconds):.4g}",
        "loss": f"{loss(made[-1]):.4g}",
    }


if __name__ == "__main__":
    main()
