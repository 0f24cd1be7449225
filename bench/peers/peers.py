"""What people would otherwise write for the work of bench/peers/*.json: loops in PyTorch and JAX.

Async SGD of P = 8 learners with exponential runtimes, minibatch 32, on MNIST; all gradients in
float32.  With such runtimes each arrival is of any learner with the same probability, so the loops
draw it and need no clock.  One line of CSV a loop:

    peer, model, device, replicas, updates, seconds, gradients a second, mean training loss

seconds: the median of --repeat calls after one that is not counted (compilation, first launches).
The loss, over the first 10,000 rows and 16 replicas at the most, shows that the work was done:
gradrace's run of the same scenario has the same but for chance.
"""

import argparse
import csv
import gzip
import pathlib
import statistics
import sys
import time

import numpy

LEARNERS, MINIBATCH, ETA = 8, 32, 0.05
WIDTHS = {"softmax": [784, 10], "mlp": [784, 128, 10]}


def idx(path):
    file = path if path.exists() else path.with_name(path.name + ".gz")
    opened = gzip.open(file) if file.suffix == ".gz" else open(file, "rb")
    with opened as stream:
        data = stream.read()
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">u4", dimensions, 4)
    return numpy.frombuffer(data, "u1", offset=4 + 4 * dimensions).reshape(shape)


def mnist(folder):
    x = idx(folder / "train-images-idx3-ubyte").reshape(60000, 784)
    return x, idx(folder / "train-labels-idx1-ubyte")


def start(widths, seed):
    """W as N(0, 2 / inputs) and b = 0; all 0 without hidden layers."""
    random = numpy.random.default_rng(seed)
    sd = lambda inputs: (2 / inputs) ** 0.5 if len(widths) > 2 else 0
    return [
        (random.normal(0, 1, (o, i)).astype("f4") * numpy.float32(sd(i)), numpy.zeros(o, "f4"))
        for i, o in zip(widths, widths[1:])
    ]


class Torch:
    def __init__(self, data, device):
        import torch

        self.torch, self.device = torch, device
        self.x = torch.tensor(data[0], device=device)
        self.y = torch.tensor(data[1], device=device, dtype=torch.int64)

    def rows(self, numbers):
        return self.x[numbers].float() / 255

    def loss(self, weights, x, y):
        for i, (w, b) in enumerate(weights):
            x = x @ w.mT + b
            x = self.torch.relu(x) if i + 1 < len(weights) else x
        return self.torch.nn.functional.cross_entropy(x, y)

    def parameters(self, widths, seed):
        return [tuple(self.torch.tensor(p, device=self.device) for p in layer) for layer in start(widths, seed)]

    def eager(self, widths, replicas, updates):
        """The loop by the book: a replica after the other, a gradient after the other."""
        return statistics.fmean(self.eager_run(widths, r, updates) for r in range(replicas))

    def eager_run(self, widths, replica, updates):
        torch = self.torch
        order = numpy.random.default_rng(replica).integers(LEARNERS, size=updates)
        w = self.parameters(widths, replica)
        versions = [w] * LEARNERS
        for learner in order:
            numbers = torch.randint(len(self.y), (MINIBATCH,), device=self.device)
            at = [tuple(p.detach().requires_grad_() for p in layer) for layer in versions[learner]]
            flat = [p for layer in at for p in layer]
            g = iter(torch.autograd.grad(self.loss(at, self.rows(numbers), self.y[numbers]), flat))
            w = [tuple(p - ETA * next(g) for p in layer) for layer in w]
            versions[learner] = w
        return self.loss(w, self.rows(slice(10000)), self.y[:10000]).item()

    def graphs(self, widths, replicas, updates):
        """All replicas in one step, which is captured once and launched for every update."""
        torch = self.torch
        each = torch.arange(replicas, device=self.device)
        starts = [self.parameters(widths, r) for r in range(replicas)]
        w = [torch.stack([s[i // 2][i % 2] for s in starts]) for i in range(2 * len(starts[0]))]
        versions = [torch.stack([p] * LEARNERS, 1) for p in w]
        loss = lambda flat, x, y: self.loss(list(zip(flat[::2], flat[1::2])), x, y)
        gradients = torch.func.vmap(torch.func.grad(loss))

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
            step = graph.replay
        for _ in range(updates):
            step()
        some = range(min(replicas, 16))
        of = lambda r: loss([p[r] for p in w], self.rows(slice(10000)), self.y[:10000]).item()
        return statistics.fmean(of(r) for r in some)


class Jax:
    def __init__(self, data, device):
        import jax

        self.jax = jax
        self.device = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        self.x = jax.device_put(data[0], self.device)
        self.y = jax.device_put(data[1].astype("i4"), self.device)
        self.compiled = {}

    def loss(self, weights, x, y):
        numpy = self.jax.numpy
        x = x.astype(numpy.float32) / 255
        for i, (w, b) in enumerate(weights):
            x = numpy.matmul(x, w.T, precision="highest") + b
            x = self.jax.nn.relu(x) if i + 1 < len(weights) else x
        return -self.jax.nn.log_softmax(x)[numpy.arange(len(y)), y].mean()

    def vmap(self, widths, replicas, updates):
        """A replica is a lax.scan over its updates; vmap runs all side by side."""
        jax, numpy = self.jax, self.jax.numpy
        starts = [start(widths, r) for r in range(replicas)]
        w = jax.tree.map(lambda *parts: numpy.stack(parts), *starts)
        if updates not in self.compiled:
            self.compiled[updates] = jax.jit(jax.vmap(lambda w, key: self.run(w, key, updates)))
        keys = jax.random.split(jax.random.key(1), replicas)
        w = self.compiled[updates](jax.device_put(w, self.device), keys)
        some = jax.tree.map(lambda p: p[:16], w)
        return jax.vmap(lambda v: self.loss(v, self.x[:10000], self.y[:10000]))(some).mean().item()

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


def measure(work, repeat):
    work()
    seconds = []
    for _ in range(repeat):
        begin = time.perf_counter()
        loss = work()  # its last number is fetched, so all of it is done
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), loss


PEERS = {"eager": Torch, "graphs": Torch, "vmap": Jax}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mnist", type=pathlib.Path, help="folder of the four IDX files")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--models", nargs="+", choices=WIDTHS, default=list(WIDTHS))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--replicas", type=int, default=1024, help="side by side (default 1024)")
    parser.add_argument("--updates", type=int, default=1000, help="of each replica (default 1000)")
    parser.add_argument("--eager-updates", type=int, default=2000, help="of its one replica (default 2000)")
    parser.add_argument("--repeat", type=int, default=3, help="calls measured (default 3)")
    options = parser.parse_args()
    data = mnist(options.mnist)
    table = csv.writer(sys.stdout)
    table.writerow(["peer", "model", "device", "replicas", "updates", "seconds", "gradients_per_second", "loss"])
    for name in options.peers:
        peer = PEERS[name](data, options.device)
        replicas, updates = (1, options.eager_updates) if name == "eager" else (options.replicas, options.updates)
        for model in options.models:
            work = lambda: getattr(peer, name)(WIDTHS[model], replicas, updates)
            seconds, loss = measure(work, options.repeat)
            rate = replicas * updates / seconds
            table.writerow([name, model, options.device, replicas, updates, f"{seconds:.4g}", f"{rate:.4g}", f"{loss:.4g}"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
