"""Functions of two elements: PyTorch in float64, and Python's numbers for integers."""

import numpy as np
import torch


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def by_element(rule):
    """The results of `rule` on Python integers, with the low bits kept."""

    def oracle(lhs, rhs):
        lhs, rhs = np.broadcast_arrays(lhs, rhs)
        bits = lhs.dtype.itemsize * 8
        low = 0 if lhs.dtype.kind == "u" else -(2 ** (bits - 1))
        found = [
            (rule(a, b, bits) - low) % 2**bits + low
            for a, b in zip(lhs.ravel().tolist(), rhs.ravel().tolist(), strict=True)
        ]
        return np.array(found, np.int64).reshape(lhs.shape)

    return oracle


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b):
    return a**b if b >= 0 else {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


INTEGERS = {
    "add": lambda a, b, bits: a + b,
    "subtract": lambda a, b, bits: a - b,
    "multiply": lambda a, b, bits: a * b,
    "divide": lambda a, b, bits: truncated(a, b) if b else 0,
    "trunc_divide": lambda a, b, bits: truncated(a, b) if b else 0,
    "floor_divide": lambda a, b, bits: a // b if b else 0,
    "mod": lambda a, b, bits: a - b * truncated(a, b) if b else a,
    "trunc_mod": lambda a, b, bits: a - b * truncated(a, b) if b else a,
    "floor_mod": lambda a, b, bits: a % b if b else a,
    "power": lambda a, b, bits: power(a, b),
    "maximum": lambda a, b, bits: max(a, b),
    "minimum": lambda a, b, bits: min(a, b),
    "bitwise_and": lambda a, b, bits: a & b,
    "bitwise_or": lambda a, b, bits: a | b,
    "bitwise_xor": lambda a, b, bits: a ^ b,
    "left_shift": lambda a, b, bits: a << b if 0 <= b < bits else 0,
    "right_shift": lambda a, b, bits: a >> b if 0 <= b < bits else -(a < 0),
}
FLOATS = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "mod": torch.fmod,
    "trunc_mod": torch.fmod,
    "floor_mod": torch.remainder,
    "power": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}
FLAGS = {
    "add": torch.add,
    "maximum": torch.logical_or,
    "minimum": torch.logical_and,
    "bitwise_and": torch.logical_and,
    "bitwise_or": torch.logical_or,
    "bitwise_xor": torch.logical_xor,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}


def arithmetic(name):
    def oracle(lhs, rhs):
        if lhs.dtype == bool:
            return FLAGS[name](wide(lhs), wide(rhs)).numpy()
        if lhs.dtype.kind in "iu":
            return by_element(INTEGERS[name])(lhs, rhs)
        return FLOATS[name](wide(lhs), wide(rhs)).numpy()

    return oracle


def comparison(function):
    return lambda lhs, rhs: function(wide(lhs), wide(rhs)).numpy()


ORACLES = {name: arithmetic(name) for name in {**INTEGERS, **FLOATS, **FLAGS}} | {
    "equal": comparison(torch.eq),
    "not_equal": comparison(torch.ne),
    "less": comparison(torch.lt),
    "less_equal": comparison(torch.le),
    "greater": comparison(torch.gt),
    "greater_equal": comparison(torch.ge),
    "where": lambda condition, x, y: torch.where(
        torch.tensor(condition.tolist()), wide(x), wide(y)
    ).numpy(),
}
