"""The codes of messages: fixed bits, bits by step, and none."""

import numpy as np

WHOLE = 32  # bits of a number as it is
SCALE = 32  # bits of the norm in a message


def name_of(row):
    """The name of a row's code."""
    code = row["compression"]
    if code["kind"] == "dq-sgd":
        if "mean_bits" in code:
            return f"DQ-SGD, {code['mean_bits']:g} bits in the mean"
        return f"DQ-SGD, error {code['error']:g}"
    if code.get("bits") == WHOLE:
        return "float32"
    return f"QSGD, {code['bits']:g} bits"


def fixed_bits(row):
    """Of a number; None where they change."""
    return row["compression"].get("bits")


def levels(bits):
    """s of B bits, of which one is the sign; infinity where numbers are as they are."""
    bits = np.asarray(bits, float)
    return np.where(bits < WHOLE, 2.0 ** (bits - 1) - 1, np.inf)


def whole_bits(bits, numbers):
    """B of the column `bits`, which has the norm and the last byte's rest in it."""
    bits = np.asarray(bits, float)
    return np.where(bits < WHOLE, np.round(bits - SCALE / numbers), WHOLE)


def bytes_of(bits, numbers):
    """Of a message."""
    return 4 * numbers if bits == WHOLE else -(-numbers * int(bits) // 8) + SCALE // 8
