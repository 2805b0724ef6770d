"""Calls of operators by the converters that they share with exported programs.

Those that change a tensor in place are converted as what computes its new elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.errors import FrontendError
from relay.frontend.common import converters as common
from relay.frontend.pytorch.converters import COMPLEX, DROPPED, find
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.quantization import carried
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.script import containers, questions, sharing, texts
from relay.frontend.pytorch.script.coding import a_number, content, new_tensor, resolved, tensor
from relay.frontend.pytorch.script.converter import Converter, Unsupported
from relay.frontend.pytorch.script.graph import Argument, Call, Schema
from relay.frontend.pytorch.script.numbers import FUNCTIONS, all_numbers, on_numbers
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import (
    Chain,
    DictCell,
    Held,
    ListCell,
    Number,
    TensorCell,
    Text,
)
from relay.frontend.pytorch.types import COMPLEX as COMPLEX_TYPES
from relay.frontend.pytorch.types import ELEMENT_TYPES, QUANTIZED
from relay.ir.expr import Expr, TupleGetItem
from relay.ir.types import TupleType

# torch's numbers of element types
DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32",
    "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16",
)  # fmt: skip

# operators of sizes that traced programs compute as tensors
OF_SIZES = {
    "add": "add", "sub": "sub", "mul": "mul", "floor_divide": "floordiv", "remainder": "remainder",
    "neg": "neg",
}  # fmt: skip

# functions of lists of numbers, by the function of two of them
_FOLDED = {"min": "min", "max": "max", "sum": "add", "any": "__or__", "all": "__and__"}

_OF_LISTS = {
    "add": containers.add,
    "mul": containers.times,
    "slice": containers.slice_of,
    "__contains__": questions.contains,
    "eq": questions.equal,
}


def operator(converter: Converter, path: Path, call: Call, *values: Any) -> Any:
    """The result of any operator that has no handler of its own."""
    namespace, _, name = call.kind.partition("::")
    first = values[0] if values else None
    if namespace in ("aten", "prim", "math"):
        if all_numbers(values) and name in FUNCTIONS:
            return on_numbers(converter, path, call, name, *values)
        if isinstance(first, ListCell) and (found := _OF_LISTS.get(name)):
            return found(converter, path, call, *values)
        if isinstance(first, ListCell) and name == "ne":
            same = questions.equal(converter, path, call, *values)
            return on_numbers(converter, path, call, "__not__", same)
        of_numbers = isinstance(first, ListCell) and "Tensor" not in call.schema
        if of_numbers and name in _FOLDED and len(values) == 1:
            return questions.folded(converter, path, call, _FOLDED[name], first)
        if isinstance(first, DictCell) and name == "__contains__":
            return questions.contains(converter, path, call, *values)
        if isinstance(first, str | Text) and texts.is_known(name):
            return texts.on_texts(converter, path, call, name, *values)
        if (found := _of_sizes(converter, path, call, name, values)) is not None:
            return found
    if not call.schema:
        raise Unsupported.of(f"{call.kind} is not supported", call.span)
    schema = converter.schema(call)
    if isinstance(first, ListCell) and name == "add_":
        return containers.extend(converter, path, call, *values)
    if schema.writes is not None:
        return sharing.in_place(converter, path, call, schema, values)
    result = applied(converter, path, call, schema, name, values)
    return sharing.wrapped(converter, path, call, schema, values, result)


def _of_sizes(
    converter: Converter, path: Path, call: Call, name: str, values: Sequence[Any]
) -> Any:
    """Arithmetic of tensors that hold sizes, as of numbers; None for any other."""
    if name not in OF_SIZES or not values or not isinstance(values[0], TensorCell):
        return None
    if name in ("add", "sub") and values[2:] not in ((), (1,)):
        return None
    numbers = []
    for value in values[:2]:
        held = path.get(value) if isinstance(value, TensorCell) else value
        number = held.number if isinstance(held, Held) else held
        if isinstance(number, bool | float) or not all_numbers((number,)):
            return None
        numbers.append(number)
    found = on_numbers(converter, path, call, OF_SIZES[name], *numbers)
    return found if path.failure is not None else path.new(TensorCell(), Held(found))


def applied(
    converter: Converter,
    path: Path,
    call: Call,
    schema: Schema,
    name: str,
    values: Sequence[Any],
    tensors: dict[int, Any] | None = None,
) -> Any:
    """What the converter of an operator gives, bound to variables; `tensors` stand for some of the
    arguments."""
    given = tensors or {}
    args, named = [], {}
    for place, (argument, value) in enumerate(zip(schema.arguments, values, strict=False)):
        if argument.name in DROPPED:
            continue
        plain = given[place] if place in given else _plain(path, argument, value, call)
        if argument.keyword_only:
            if not _is_default(argument, plain):
                named[argument.name] = plain
        else:
            args.append((argument, plain))
    while args and _is_default(*args[-1]):
        args.pop()
    positional = [plain for _, plain in args]
    namespace = call.kind.partition("::")[0]
    complex_ones = any(_has_complex(one) for one in (*positional, *named.values()))
    domain = f"{COMPLEX}{namespace}" if complex_ones else namespace
    found = converter_of(converter.tables, domain, name, schema.overload)
    node = Node(f"{namespace}.{name}", call.span, path.scope, (call.results or (name,))[0])
    if found is None:
        if complex_ones and converter_of(converter.tables, namespace, name, schema.overload):
            raise node.refused("it takes no complex numbers", hint="take `torch.view_as_real`")
        raise Unsupported.of(f"{call.kind} is not supported", call.span)
    result = bound(node, found(node, *positional, **named))
    return carried(node, name, positional, result) if namespace == "aten" else result


def converter_of(
    tables: Sequence[common.Converters], domain: str, name: str, overload: str
) -> common.Converter | None:
    """The converter of an operator, by its overload or by its name."""
    return find(tables, domain, name, overload)


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default
    if not argument.has_default or isinstance(value, Expr):
        return False
    return type(value) is type(default) and bool(value == default)


def _plain(path: Path, argument: Argument, value: Any, call: Call) -> Any:
    """A value as converters take it."""
    if "ScalarType" in argument.type and type(value) is int:
        return element_type(value, call)
    return plain(path, value, call)


def plain(path: Path, value: Any, call: Call) -> Any:
    """A tensor as its expression, a list as Python's."""
    value = resolved(path, value)
    match value:
        case TensorCell():
            return tensor(path, value, call.span)
        case Number(value=expression):
            return expression
        case tuple():
            return [plain(path, one, call) for one in value]
        case ListCell():
            held = content(path, value, call.span)
            if isinstance(held, Chain):
                text = f"{call.operator}: a list has a length that only a run knows"
                raise FrontendError.of(text, call.span, expected="a list of known length")
            return [plain(path, one, call) for one in held]
    return value


def element_type(number: int, call: Call) -> Any:
    """The element type of a number of torch, as converters take it."""
    name = DTYPES[number] if 0 <= number < len(DTYPES) else str(number)
    for table in (ELEMENT_TYPES, COMPLEX_TYPES, QUANTIZED):
        for dtype in table:
            if str(dtype) == f"torch.{name}":
                return ELEMENT_TYPES.get(dtype, dtype)
    raise FrontendError.of("there is no such element type", call.span, found=name)


def number_of(dtype: str) -> int:
    """The number that torch has for an element type."""
    return DTYPES.index(dtype)


def _has_complex(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_complex, value))
    return isinstance(value, Complex | complex)


def bound(node: Node, result: Any) -> Any:
    """Variables bound to what a converter gives."""
    if isinstance(result, Complex):
        return Complex(node.let(result.pairs))
    if isinstance(result, list | tuple):
        return [bound(node, one) for one in result]
    if not isinstance(result, Expr):
        return result
    value = node.let(result)
    found = node.type_of(value)
    if isinstance(found, TupleType):
        return [node.let(TupleGetItem(value, place)) for place in range(len(found.fields))]
    return value


def as_values(path: Path, call: Call, result: Any) -> Any:
    """What a converter gave as values of the types that torch declares."""
    if len(call.results) > 1:
        return [_as_value(path, ty, one) for ty, one in zip(call.types, result, strict=True)]
    return _as_value(path, call.types[0], result)


def _as_value(path: Path, ty: Any, result: Any) -> Any:
    if isinstance(result, list):
        if ty.kind() == "TupleType":
            pairs = zip(ty.elements(), result, strict=True)
            return tuple(_as_value(path, one, value) for one, value in pairs)
        inside = ty.getElementType() if ty.kind() == "ListType" else ty
        if ty.kind() != "ListType" and len(result) == 1:
            return _as_value(path, ty, result[0])
        return containers.a_list(path, [_as_value(path, inside, one) for one in result])
    if isinstance(result, Complex):
        return new_tensor(path, result)
    if isinstance(result, Expr):
        numbers = ("IntType", "FloatType", "BoolType", "NumberType")
        return a_number(path, result) if ty.kind() in numbers else new_tensor(path, result)
    if ty.kind() == "TensorType" and result is not None:
        return path.new(TensorCell(), Held(result))
    return result
