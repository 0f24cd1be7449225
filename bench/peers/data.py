"""The four files of MNIST, unpacked; without MNIST made-up ones of the same shape and density.  Made-up
images of CIFAR-10's shape."""

import gzip
import random
import struct
from pathlib import Path

FILES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]
PIXELS, DENSITY = 784, 0.19  # 19 % of MNIST's pixels are not 0


def unpacked(source, folder):
    """Plain files, so that no contestant spends its time on unpacking."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if (folder / name).exists():
            continue
        plain = source / name
        content = (
            plain.read_bytes()
            if plain.exists()
            else gzip.decompress((source / f"{name}.gz").read_bytes())
        )
        (folder / name).write_bytes(content)
    return folder


def made_up(folder, rows):
    """Each class is a picture of random pixels, of which a row is a shift by up to two rows."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    pixel = lambda: draw.randrange(1, 256) if draw.random() < DENSITY else 0
    pictures = [bytes(pixel() for _ in range(PIXELS)) for _ in range(10)]
    for (images, labels), count in zip((FILES[:2], FILES[2:]), (rows, rows // 6)):
        shifts = [draw.randrange(56) for _ in range(count)]
        shifted = (pictures[i % 10][s:] + pictures[i % 10][:s] for i, s in enumerate(shifts))
        (folder / images).write_bytes(struct.pack(">4I", 2051, count, 28, 28) + b"".join(shifted))
        labelled = bytes(i % 10 for i in range(count))
        (folder / labels).write_bytes(struct.pack(">2I", 2049, count) + labelled)
    return folder


def made_up_images(folder, rows):
    """CIFAR-10's binary version: each class is a picture of random bytes, of which a row is a shift by
    up to two rows of pixels.  What is in them changes no time."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(2)
    pictures = [draw.randbytes(3072) for _ in range(10)]
    for name, count in [(f"data_batch_{i}", rows // 5) for i in range(1, 6)] + [
        ("test_batch", 100)
    ]:
        shifts = [draw.randrange(64) for _ in range(count)]
        both = ((i % 10, pictures[i % 10], s) for i, s in enumerate(shifts))
        records = (bytes([label]) + x[s:] + x[:s] for label, x, s in both)
        (folder / f"{name}.bin").write_bytes(b"".join(records))
    return folder


def prepared(data, folder, rows):
    """(folder of the four files, what they are); data is a folder that may hold mnist."""
    source = Path(data or "/nowhere") / "mnist"
    if any((source / name).exists() for name in (FILES[0], f"{FILES[0]}.gz")):
        return unpacked(source, folder / "mnist"), "MNIST"
    said = "made-up rows of MNIST's shape and density"
    return made_up(folder / f"made_up_{rows}", rows), said
