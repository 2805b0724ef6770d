"""Types of ONNX as types of Relay.

tensor(float, [batch, 3])     Tensor[(batch, 3), float32]     one dimension per name
tensor(float, [, 3])          Tensor[(?, 3), float32]
seq(tensor(int64, []))        List[int64]
seq(tensor(int64))            List[…], with tensors of unknown rank
optional(…)                   Option[…]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from onnx import TensorProto, TypeProto

from relay.errors import FrontendError
from relay.frontend.onnx.boxed import boxed
from relay.ir.dims import Any, Dim
from relay.ir.types import GlobalTypeVar, ShapeVar, TensorType, Type, TypeCall, TypeVar

_ELEMENT_NAMES = {
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "FLOAT16": "float16",
    "BFLOAT16": "bfloat16",
    "FLOAT8E4M3FN": "float8_e4m3fn",
    "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2",
    "FLOAT8E5M2FNUZ": "float8_e5m2fnuz",
    "FLOAT8E8M0": "float8_e8m0fnu",
    "FLOAT6E2M3": "float6_e2m3fn",
    "FLOAT6E3M2": "float6_e3m2fn",
    "FLOAT4E2M1": "float4_e2m1fn",
    **{f"INT{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"UINT{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    "BOOL": "bool",
}
# by number; those that the installed `onnx` knows
ELEMENT_TYPES: Mapping[int, str] = {
    number: _ELEMENT_NAMES[name]
    for name, number in TensorProto.DataType.items()
    if name in _ELEMENT_NAMES
}

MOST_AXES = 64
MOST_ELEMENTS = 1 << 48


def element_type(number: int) -> str:
    """The name of an element type; refused if Relay does not have it."""
    if number in ELEMENT_TYPES:
        return ELEMENT_TYPES[number]
    raise FrontendError.of(
        f"tensors of {element_name(number)} cannot be computed with",
        expected="numbers and truth values: " + ", ".join(sorted(ELEMENT_TYPES.values())),
    )


def element_name(number: int) -> str:
    """The name of an element type in ONNX."""
    names = {value: name.lower() for name, value in TensorProto.DataType.items()}
    return str(names.get(number, f"element type {number}"))


def innermost(proto: TypeProto) -> TypeProto:
    """The element type of nested sequences and optionals."""
    while (kind := proto.WhichOneof("value")) in ("sequence_type", "optional_type"):
        proto = getattr(proto, kind).elem_type
    return proto


def lacks_shape(proto: TypeProto) -> bool:
    """Whether a type does not declare a rank."""
    inside = innermost(proto)
    kind = inside.WhichOneof("value")
    return kind is None or (kind == "tensor_type" and not inside.tensor_type.HasField("shape"))


# what exporters write for unknown dimensions
NAMELESS = frozenset({"?", "-1", "None", "unk"})


@dataclass
class Dimensions:
    """The named dimensions of a model, one variable each."""

    pinned: Mapping[str, int] = field(default_factory=dict)  # names with given sizes
    variables: dict[str, TypeVar] = field(default_factory=dict)
    complete: bool = False  # other names are unknown: no input has them

    def named(self, name: str) -> Dim:
        """The dimension of a name."""
        if name in self.pinned:
            return self.pinned[name]
        if name in NAMELESS:
            return Any()
        if self.complete and name not in self.variables:
            return Any()
        return self.variables.setdefault(name, ShapeVar(name))

    def shape(self, proto: TypeProto.Tensor, where: str) -> tuple[Dim, ...]:
        """The shape of a tensor type that has one."""
        if len(proto.shape.dim) > MOST_AXES:
            raise FrontendError.of(
                f"{where} has {len(proto.shape.dim)} axes", expected=f"{MOST_AXES}"
            )
        found: list[Dim] = []
        for dim in proto.shape.dim:
            if dim.dim_param:
                found.append(self.named(dim.dim_param))
            else:  # some exporters write negative sizes for unknown ones
                is_known = dim.HasField("dim_value") and dim.dim_value >= 0
                found.append(dim.dim_value if is_known else Any())
        count = prod(max(one, 1) for one in found if isinstance(one, int))
        if count > MOST_ELEMENTS:
            message = f"{where} has more elements than any machine has room for"
            raise FrontendError.of(message, expected=f"at most {MOST_ELEMENTS}", found=f"{count}")
        return tuple(found)

    def type_of(
        self, proto: TypeProto, where: str, shape: Sequence[Dim] | None = None, dtype: str = ""
    ) -> Type:
        """The declared type of a value; `shape` and `dtype` are given by the user."""
        around: list[str] = []
        while (kind := proto.WhichOneof("value")) in _HOLDERS:
            around.append(_HOLDERS[kind])
            proto = getattr(proto, kind).elem_type
        if len(around) > MOST_AXES:
            raise FrontendError.of(
                f"{where} is of {len(around)} sequences and optionals in each other"
            )
        if kind != "tensor_type":
            raise FrontendError.of(
                f"{where} is a {(kind or 'nothing').removesuffix('_type').replace('_', ' ')}",
                expected="a tensor, a sequence or an optional",
            )
        tensor = proto.tensor_type
        dtype = dtype or element_type(tensor.elem_type)
        lacks_rank = shape is None and not tensor.HasField("shape")
        if lacks_rank and "List" not in around:
            hint = "give it: from_onnx(model, shape={name: (…)})"
            raise FrontendError.of(f"nothing is said about the shape of {where}", hint=hint)
        if lacks_rank:
            found: Type = boxed(dtype)
        else:
            extents = tuple(shape) if shape is not None else self.shape(tensor, where)
            found = TensorType(extents, dtype)
        for name in reversed(around):
            found = TypeCall(GlobalTypeVar(name), (found,))
        return found


_HOLDERS = {"sequence_type": "List", "optional_type": "Option"}
