"""What the accelerator computes as one: a product with what follows it, or elementwise steps alone.

qnn.conv2d(%x, W, 0, 0, …) + bias -> qnn.requantize -> maximum 0 -> clip
=
Layer(Product(weight, kernel, strides, …), steps=(bias, add 2^(s-1), shift right by s, clamp))

Data and weights are signed bytes without zero points; scales differ by powers of two, so that
rescaling is a shift. Sums are exact: a layer is taken only if its weights prove that nothing
overflows 32 bits.
"""

from __future__ import annotations

from math import frexp
from typing import Any, Final, Literal

import numpy as np

from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Var
from relay.ir.types import TensorType
from relay.op.opdef import OpDef

PRODUCTS: Final = ("qnn.conv2d", "qnn.conv2d_transpose", "qnn.dense", "nn.dense")
BYTE: Final = (-128, 127)
WORD: Final = (-(2**31), 2**31 - 1)


@frozen
class Product:
    """A convolution, a transposed one, or a dense layer, which is one of a single point."""

    weight: np.ndarray  # (outputs, inputs, height, width), int8
    strides: tuple[int, int] = (1, 1)
    before: tuple[int, int] = (0, 0)  # zeros above and on the left
    dilation: tuple[int, int] = (1, 1)
    transposed: bool = False


@frozen
class Bias:
    """Adds a number to each output channel."""

    values: np.ndarray  # int32


@frozen
class Add:
    """Adds bytes, shifted to the left."""

    tensor: Expr
    shift: int


@frozen
class Number:
    """Adds a number."""

    value: int


@frozen
class Shift:
    """Shifts to the right; to the left if `by` is negative."""

    by: int


@frozen
class Clamp:
    """Limits values to a range."""

    low: int
    high: int


Step = Bias | Add | Number | Shift | Clamp


@frozen
class Layer:
    """What is computed of `data`, bytes of shape (N, C, H, W) or (N, C), as bytes or as words."""

    data: Expr
    product: Product | None
    steps: tuple[Step, ...]
    shape: tuple[int, ...]
    dtype: Literal["int8", "int32"]


def read_layer(e: Expr) -> Layer | None:
    """The layer that an expression is; None if it is none that the accelerator computes."""
    ty = e.ty
    if not isinstance(ty, TensorType) or ty.dtype not in ("int8", "int32"):
        return None
    if len(ty.shape) not in (2, 4) or not all(type(n) is int and n > 0 for n in ty.shape):
        return None
    steps: list[Step] = []
    product: Product | None = None
    node = e
    while isinstance(node, Call) and isinstance(node.op, OpDef):
        name = node.op.name
        if name in PRODUCTS:
            product = _product(node)
            if product is None:
                return None
            node = node.args[0]
            break
        found = _steps(node)
        if found is None:
            return None
        more, node = found
        steps[:0] = more
    data = node.ty
    if not isinstance(data, TensorType) or data.dtype != "int8" or isinstance(node, Constant):
        return None
    if product is None and (data.shape != ty.shape or not steps):
        return None
    known = _simplified(steps, product)
    if known is None:
        return None
    done, (low, high) = known
    if ty.dtype == "int8" and not BYTE[0] <= low <= high <= BYTE[1]:
        return None
    dtype: Literal["int8", "int32"] = "int8" if ty.dtype == "int8" else "int32"
    return Layer(node, product, done, ty.concrete_shape, dtype)


# --- products


def _product(call: Call) -> Product | None:
    if not isinstance(call.op, OpDef):
        return None
    name, known = call.op.name, call.attrs
    weight = _array(call.args[1])
    if weight is None or weight.dtype != np.int8 or call.args[0].checked_type is None:
        return None
    if name.startswith("qnn."):
        zeros = [_scalar(arg) for arg in call.args[2:4]]
        if zeros != [0, 0] or any(_array(arg) is None for arg in call.args[4:6]):
            return None
    out_dtype = getattr(known, "out_dtype", None)
    if out_dtype not in (None, "", "int32") or call.ty.dtype != "int32":  # type: ignore[union-attr]
        return None
    data = call.args[0].ty
    if not isinstance(data, TensorType) or data.dtype != "int8":
        return None
    if name in ("qnn.dense", "nn.dense"):
        return Product(weight[:, :, None, None]) if weight.ndim == len(data.shape) == 2 else None
    return _convolution(known, weight, name == "qnn.conv2d_transpose")


def _convolution(known: Any, weight: np.ndarray, transposed: bool) -> Product | None:
    layout = "IOHW" if transposed else "OIHW"
    if known.groups != 1 or known.data_layout != "NCHW" or known.kernel_layout != layout:
        return None
    if known.out_layout not in ("", "NCHW"):
        return None
    if transposed:
        weight = weight.transpose(1, 0, 2, 3)
    pads = tuple(map(int, known.padding))
    before = (pads[0], pads[1]) if len(pads) in (2, 4) else (pads[0], pads[0])
    strides, dilation = (tuple(map(int, each)) for each in (known.strides, known.dilation))
    if len(strides) != 2 or len(dilation) != 2 or (transposed and dilation != (1, 1)):
        return None
    made = np.ascontiguousarray(weight)
    return Product(made, strides, before, (dilation[0], dilation[1]), transposed)


# --- what follows a product


def _steps(call: Call) -> tuple[list[Step], Expr] | None:
    """The steps of one operator, and its argument."""
    assert isinstance(call.op, OpDef)
    known: Any = call.attrs
    first = call.args[0] if call.args else None
    if first is None:
        return None
    match call.op.name:
        case "clip":
            low, high = float(known.a_min), float(known.a_max)
            if low != int(low) or high != int(high) or low > high:
                return None
            return [Clamp(int(low), int(high))], first
        case "nn.relu":
            return [Clamp(0, WORD[1])], first
        case "maximum" | "minimum" as name:
            place = 1 if isinstance(call.args[1], Constant) else 0
            number, rest = _scalar(call.args[place]), call.args[1 - place]
            if number is None:
                return None
            is_max = name == "maximum"
            return [Clamp(number, WORD[1]) if is_max else Clamp(WORD[0], number)], rest
        case "nn.bias_add":
            values = _array(call.args[1])
            if values is None or values.dtype != np.int32 or known.axis not in (1, -3):
                return None
            return [Bias(values)], first
        case "add":
            return _addition(call)
        case "cast":
            ty = call.ty
            return ([], first) if isinstance(ty, TensorType) and ty.dtype == "int32" else None
        case "qnn.requantize":
            return _rescaling(call)
    return None


def _addition(call: Call) -> tuple[list[Step], Expr] | None:
    ty = call.ty
    assert isinstance(ty, TensorType)
    if ty.dtype != "int32":
        return None
    for place in (1, 0):
        other, rest = call.args[place], call.args[1 - place]
        rest_ty = rest.ty
        if not isinstance(rest_ty, TensorType) or rest_ty.shape != ty.shape:
            continue
        values = _array(other)
        if values is not None and values.dtype == np.int32:
            shape = (1,) * (len(ty.shape) - values.ndim) + values.shape
            if all(n == 1 for axis, n in enumerate(shape) if axis != 1):
                return [Bias(values.reshape(-1))], rest
            return None
        if (shifted := _shifted(other)) is not None:
            return [shifted], rest
    return None


def _shifted(e: Expr) -> Add | None:
    """multiply(cast(%bytes, "int32"), 2^k)  ->  Add(%bytes, k)"""
    factor = 1
    if isinstance(e, Call) and isinstance(e.op, OpDef) and e.op.name == "multiply":
        number = _scalar(e.args[1])
        if number is None or number <= 0 or number & (number - 1):
            return None
        factor, e = number, e.args[0]
    if not isinstance(e, Call) or not isinstance(e.op, OpDef) or e.op.name != "cast":
        return None
    data = e.args[0].ty
    if not isinstance(data, TensorType) or data.dtype != "int8":
        return None
    return Add(e.args[0], factor.bit_length() - 1)


def _rescaling(call: Call) -> tuple[list[Step], Expr] | None:
    known: Any = call.attrs
    scale, zero, to, to_zero = (_array(arg) for arg in call.args[1:5])
    if scale is None or zero is None or to is None or to_zero is None:
        return None
    if scale.size != 1 or to.size != 1 or zero.any() or to_zero.any():
        return None
    if known.out_dtype != "int8" or known.rounding not in ("UPWARD", "None"):
        return None
    if known.compute_dtype != "int64":
        return None
    mantissa, exponent = frexp(float(scale.reshape(())) / float(to.reshape(())))
    shift = 1 - exponent
    if mantissa != 0.5 or not -15 <= shift <= 31:
        return None
    steps: list[Step] = []
    if shift > 0:
        steps.append(Number(1 << (shift - 1)))
    if shift:
        steps.append(Shift(shift))
    return [*steps, Clamp(*BYTE)], call.args[0]


# --- ranges


def _simplified(
    steps: list[Step], product: Product | None
) -> tuple[tuple[Step, ...], tuple[int, int]] | None:
    """The steps without those that change nothing, and the range of their result; None if something
    may overflow. Numbers that are added join the bias before them."""
    low, high = BYTE
    if product is not None:
        flat = product.weight.reshape(len(product.weight), -1).astype(np.int64)
        most = int(np.abs(flat).sum(1).max(initial=0)) * 128
        low, high = -most, most
        if not _fits(low, high):
            return None
    done: list[Step] = []
    for step in steps:
        match step:
            case Bias(values=values):
                low += int(values.min(initial=0))
                high += int(values.max(initial=0))
            case Add(shift=shift):
                low, high = low + (BYTE[0] << shift), high + (BYTE[1] << shift)
            case Number(value=value):
                low, high = low + value, high + value
                place = next((i for i, s in enumerate(done) if isinstance(s, Bias)), None)
                linear = all(isinstance(s, Bias | Add) for s in done)
                if place is not None and linear:
                    bias = done[place]
                    assert isinstance(bias, Bias)
                    total = bias.values.astype(np.int64) + value
                    if not _fits(int(total.min()), int(total.max())):
                        return None
                    done[place] = Bias(total.astype(np.int32))
                    if not _fits(low, high):
                        return None
                    continue
            case Shift(by=by):
                low, high = (n >> by if by >= 0 else n << -by for n in (low, high))
            case Clamp(low=least, high=greatest):
                if least <= low and high <= greatest:
                    continue
                low, high = (min(max(n, least), greatest) for n in (low, high))
                if done and isinstance(last := done[-1], Clamp):
                    ends = [min(max(n, least), greatest) for n in (last.low, last.high)]
                    done[-1] = Clamp(ends[0], ends[1])
                    continue
        if not _fits(low, high):
            return None
        done.append(step)
    return tuple(done), (low, high)


def _fits(low: int, high: int) -> bool:
    return WORD[0] <= low and high <= WORD[1]


# --- constants


def _array(e: Expr) -> np.ndarray | None:
    """The value of a constant."""
    return e.data.array if isinstance(e, Constant) else None


def _scalar(e: Expr) -> int | None:
    """The integer that a constant is, if it has one element."""
    found = _array(e)
    if found is None or found.size != 1 or found.dtype.kind not in "iu":
        return None
    return int(found.reshape(()))


def is_parameter(e: Expr) -> bool:
    """Whether it comes from outside of a part."""
    return isinstance(e, Var)
