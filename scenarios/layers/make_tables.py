"""Writes the tables of this folder from the shapes of the networks, or prints that of a transformer."""

import argparse
import pathlib

NUMBER = 4  # bytes


class Network:
    """Rows of layers that have parameters, one after another, for one sample; `image`: (maps, height and width)."""

    def __init__(self, maps, side):
        self.maps, self.side, self.rows = maps, side, []

    def add(self, name, weights, biases, positions, taken_in):
        flop = 2 * (weights + biases) * positions
        self.rows.append((name, flop, NUMBER * (weights + biases), NUMBER * taken_in))

    def conv(self, name, maps, kernel, stride=1, padding=None, groups=1, normalised=False):
        padding = kernel // 2 if padding is None else padding
        taken_in = self.maps * self.side**2
        self.side = (self.side + 2 * padding - kernel) // stride + 1
        weights = self.maps // groups * kernel**2 * maps
        self.add(name, weights, 2 * maps if normalised else maps, self.side**2, taken_in)
        self.maps = maps

    def pool(self, kernel=2, stride=2, padding=0):
        self.side = (self.side + 2 * padding - kernel) // stride + 1

    def dense(self, *widths):
        taken_in = self.maps * self.side**2
        for number, width in enumerate(widths, 1):
            self.add(f"fc{number}", taken_in * width, width, 1, taken_in)
            taken_in = width


def vgg(*stages):
    """Simonyan, Zisserman, ICLR 2015, table 1: so many convolutions of 3 x 3 in each of five stages."""
    network = Network(3, 224)
    for stage, convolutions in enumerate(stages, 1):
        for number in range(1, convolutions + 1):
            network.conv(f"conv{stage}_{number}", min(32 * 2**stage, 512), 3)
        network.pool()
    network.dense(4096, 4096, 1000)
    return network


def overfeat_fast():
    """Sermanet et al., ICLR 2014, table 1."""
    network = Network(3, 231)
    network.conv("conv1", 96, 11, stride=4, padding=0)
    network.pool()
    network.conv("conv2", 256, 5, padding=0)
    network.pool()
    for number, maps in enumerate((512, 1024, 1024), 3):
        network.conv(f"conv{number}", maps, 3)
    network.pool()
    network.dense(3072, 4096, 1000)
    return network


def alexnet():
    """Krizhevsky, Sutskever, Hinton, NIPS 2012, with the groups of its two GPUs."""
    network = Network(3, 227)
    network.conv("conv1", 96, 11, stride=4, padding=0)
    network.pool(3)
    network.conv("conv2", 256, 5, groups=2)
    network.pool(3)
    network.conv("conv3", 384, 3)
    network.conv("conv4", 384, 3, groups=2)
    network.conv("conv5", 256, 3, groups=2)
    network.pool(3)
    network.dense(4096, 4096, 1000)
    return network


def resnet50():
    """He et al., CVPR 2016, table 1; strides stand at the 3 x 3 convolutions, and batch normalisation has two numbers a map."""
    network = Network(3, 224)
    network.conv("conv1", 64, 7, stride=2, normalised=True)
    network.pool(3, padding=1)
    for stage, (blocks, maps) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 2):
        for block in range(1, blocks + 1):
            name, stride = f"conv{stage}_{block}", 2 if stage > 2 and block == 1 else 1
            before = network.maps, network.side
            network.conv(name + "_a", maps, 1, normalised=True)
            network.conv(name + "_b", maps, 3, stride=stride, normalised=True)
            network.conv(name + "_c", 4 * maps, 1, normalised=True)
            if block == 1:
                network.maps, network.side = before
                network.conv(name + "_shortcut", 4 * maps, 1, stride=stride, normalised=True)
    network.pool(7)
    network.dense(1000)
    return network


def cd_dnn():
    """Seide, Li, Yu, Interspeech 2011, in the size of Das et al.: seven hidden layers of 2048, a sample is a frame."""
    network = Network(429, 1)
    network.dense(*[2048] * 7, 9304)
    return network


def transformer(sequence, hidden, layers, vocabulary):
    """Vaswani et al., NIPS 2017: a sample is a sequence; a layer's forward pass takes 24 s h^2 + 4 s^2 h.  Words are looked up in
    one table, and the last layer has another."""
    network = Network(hidden, 1)
    tokens = sequence * hidden
    network.rows.append(
        ("embedding", 0, NUMBER * hidden * (vocabulary + sequence), NUMBER * sequence)
    )
    for number in range(1, layers + 1):
        attention = 4 * sequence**2 * hidden
        for part, blocks in (("attention", 4), ("mlp", 8)):
            flop = 2 * blocks * sequence * hidden**2 + (attention if part == "attention" else 0)
            network.rows.append(
                (f"{part}{number}", flop, NUMBER * blocks * hidden**2, NUMBER * tokens)
            )
    network.rows.append(
        ("head", 2 * tokens * vocabulary, NUMBER * hidden * vocabulary, NUMBER * tokens)
    )
    return network


TABLES = {
    "vgg-a": vgg(1, 1, 2, 2, 2),
    "vgg-16": vgg(2, 2, 3, 3, 3),
    "overfeat-fast": overfeat_fast(),
    "alexnet": alexnet(),
    "resnet-50": resnet50(),
    "cd-dnn": cd_dnn(),
    "transformer": transformer(sequence=1024, hidden=1024, layers=24, vocabulary=50257),
}


def text_of(network):
    rows = [",".join(map(str, row)) + "\n" for row in network.rows]
    return "layer,flop,parameter_bytes,activation_bytes\n" + "".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "network", nargs="?", choices=["transformer"], help="a transformer of one's own, printed"
    )
    for name in ("sequence", "hidden", "layers", "vocabulary"):
        parser.add_argument(f"--{name}", type=int)
    given = vars(parser.parse_args())
    if given.pop("network"):
        if None in given.values():
            parser.error("a transformer has " + ", ".join(f"--{name}" for name in given))
        return print(text_of(transformer(**given)), end="")
    for name, network in TABLES.items():
        pathlib.Path(__file__).with_name(f"{name}.csv").write_text(
            text_of(network), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
