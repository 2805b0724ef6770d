"""Types of torch as types of Relay.

torch.float32            float32
torch.complex64          float32, with a trailing axis of 2
FakeTensor(s0, 3)        Tensor[(s0, 3), float32]
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from relay.errors import FrontendError
from relay.frontend.pytorch.sizes import Sizes
from relay.ir import dims
from relay.ir.types import TensorType

ELEMENT_TYPES: Mapping[torch.dtype, str] = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.float8_e4m3fn: "float8_e4m3fn",
    torch.float8_e4m3fnuz: "float8_e4m3fnuz",
    torch.float8_e5m2: "float8_e5m2",
    torch.float8_e5m2fnuz: "float8_e5m2fnuz",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.uint8: "uint8",
    torch.uint16: "uint16",
    torch.uint32: "uint32",
    torch.uint64: "uint64",
    torch.bool: "bool",
}
# the integers of quantized tensors
QUANTIZED: Mapping[torch.dtype, str] = {
    torch.quint8: "uint8",
    torch.qint8: "int8",
    torch.qint32: "int32",
}
# complex numbers are pairs of these
COMPLEX: Mapping[torch.dtype, str] = {torch.complex64: "float32", torch.complex128: "float64"}


def element_type(dtype: torch.dtype) -> str:
    """The name of an element type, for complex numbers that of their parts."""
    name = ELEMENT_TYPES.get(dtype) or COMPLEX.get(dtype)
    if name is None:
        expected = ", ".join(str(one) for one in (*ELEMENT_TYPES, *COMPLEX))
        raise FrontendError.of("there is no such element type", None, expected, str(dtype))
    return name


def tensor_type(value: torch.Tensor, sizes: Sizes) -> TensorType:
    """The type of a tensor of torch, of which only shape and element type are looked at."""
    found = map(sizes.dim, value.shape)
    shape = tuple(dims.ANY if one is None else one for one in found)
    if value.dtype in COMPLEX:
        shape = (*shape, 2)
    return TensorType(shape, element_type(value.dtype))
