"""Constants, attributes, objects, optional values, and operators without effect."""

from __future__ import annotations

from typing import Any

from relay.errors import FrontendError
from relay.frontend.pytorch.script import containers
from relay.frontend.pytorch.script.coding import (
    Shared,
    content,
    decoded,
    form_of,
    new,
    opened,
    spoil,
)
from relay.frontend.pytorch.script.converter import Converter, Handlers
from relay.frontend.pytorch.script.failing import fail
from relay.frontend.pytorch.script.forms import (
    ChainForm,
    DictForm,
    Form,
    ListForm,
    NumberForm,
    Same,
    TensorForm,
    TupleForm,
)
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.merging import Branch, merge
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import (
    NOTHING,
    Cell,
    DictCell,
    ListCell,
    Module,
    ObjectCell,
    UnionCell,
)
from relay.ir.expr import Clause, Expr, Match

table = Handlers()


@table("prim::Constant")
def constant(converter: Converter, path: Path, call: Call) -> Any:
    return converter.model.constant(path, call)


@table("prim::Uninitialized")
def uninitialized(converter: Converter, path: Path, call: Call) -> Any:
    return NOTHING


@table("prim::GetAttr")
def get_attribute(converter: Converter, path: Path, call: Call, owner: Any) -> Any:
    if isinstance(owner, Module):
        return converter.model.attribute(path, owner, call.attribute, call.span)
    return content(path, owner, call.span)[call.attribute]


@table("prim::SetAttr")
def set_attribute(
    converter: Converter, path: Path, call: Call, owner: Any, value: Any
) -> list[Any]:
    if isinstance(owner, Module):
        converter.model.assign(path, owner, call.attribute, value, call.span)
        return []
    held = content(path, owner, call.span)
    spoil(path, owner)
    path.put(owner, {**held, call.attribute: value})
    return []


@table("prim::CreateObject")
def create_object(converter: Converter, path: Path, call: Call) -> Any:
    return new(path, ObjectCell(str(call.types[0])), {})


@table(
    "prim::Enter", "prim::Exit", "aten::warn", "prim::Print", "aten::set_grad_enabled",
    "aten::manual_seed", "prim::profile",
)  # fmt: skip
def nothing(converter: Converter, path: Path, call: Call, *_: Any) -> Any:
    return [None] * len(call.results)


@table("prim::annotate", "prim::unchecked_unwrap_optional")
def annotated(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    return value


# --- optional values


@table("aten::__is__", "aten::__isnot__")
def is_same(converter: Converter, path: Path, call: Call, one: Any, other: Any) -> Any:
    negated = call.kind == "aten::__isnot__"
    value, wanted = (other, one) if one is None else (one, other)
    if wanted is not None:
        return _same_cell(call, value, wanted) is not negated
    return _tested(path, call, value, lambda form: _is_none(form) is not negated)


def _same_cell(call: Call, one: Any, other: Any) -> bool:
    """Whether two values are one object."""
    if one is other:
        return True
    if not isinstance(one, Cell) or not isinstance(other, Cell):
        return False
    if one.origins & other.origins:
        text = "only a run knows whether two values are one object"
        raise FrontendError.of(text, call.span, expected="`is` with None, or of other values")
    return False


def _is_none(form: Form) -> bool:
    return isinstance(form, Same) and form.value is None


def _tested(path: Path, call: Call, value: Any, holds: Any) -> Any:
    """Whether the form of a value has a property."""
    if not isinstance(value, UnionCell):
        return holds(form_of(path, value, call.span))
    cases = content(path, value, call.span)
    answers = [bool(holds(form)) for form in cases.forms]
    if len(set(answers)) == 1:
        return answers[0]
    patterns, branches = [], []
    for (pattern, inner, _, _), answer in zip(opened(path, cases), answers, strict=True):
        patterns.append(pattern)
        branches.append(Branch(inner, [answer]))

    def choose(bodies: list[Expr]) -> Expr:
        pairs = zip(patterns, bodies, strict=True)
        return Match(cases.value, tuple(Clause(*pair) for pair in pairs))

    return merge(path, branches, choose, call.span, 1)


@table("prim::unchecked_cast", "aten::_unwrap_optional")
def unwrapped(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    kind = call.types[0]
    if not isinstance(value, UnionCell):
        if value is None and kind.kind() not in ("OptionalType", "NoneType"):
            fail(path, call, "a value is needed where there is None")
            return []
        return value
    cases = content(path, value, call.span)
    fitting = [fits(form, kind) for form in cases.forms]
    if all(fitting):
        return value
    patterns, branches = [], []
    for (pattern, inner, leaves, form), good in zip(opened(path, cases), fitting, strict=True):
        patterns.append(pattern)
        if good:
            shared = Shared(value.origins, value.holds)
            branches.append(Branch(inner, [decoded(inner, leaves, form, shared)]))
        else:
            fail(inner, call, "a value is needed where there is None")
            branches.append(Branch(inner, []))

    def choose(bodies: list[Expr]) -> Expr:
        pairs = zip(patterns, bodies, strict=True)
        return Match(cases.value, tuple(Clause(*pair) for pair in pairs))

    return merge(path, branches, choose, call.span, 1)


@table("prim::isinstance")
def is_instance(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    kinds = call.attribute
    return _tested(path, call, value, lambda form: any(fits(form, kind) for kind in kinds))


def fits(form: Form, kind: Any) -> bool:
    """Whether a value of a form is of a type of torch."""
    pending = [kind]
    while pending:
        one = pending.pop()
        name = one.kind()
        if name == "OptionalType":
            if _is_none(form):
                return True
            pending.append(one.getElementType())
        elif name == "UnionType":
            pending += one.containedTypes()
        elif _fits(form, one, name):
            return True
    return False


def _fits(form: Form, kind: Any, name: str) -> bool:
    number = form.dtype if isinstance(form, NumberForm) else None
    if isinstance(form, Same):
        number = {bool: "bool", int: "int64", float: "float64"}.get(type(form.value))
        if number is None and not (form.value is None or isinstance(form.value, str)):
            number = "int64" if name == "IntType" else None
    match name:
        case "AnyType":
            return True
        case "NoneType":
            return _is_none(form)
        case "TensorType":
            return isinstance(form, TensorForm)
        case "IntType":
            return number == "int64"
        case "FloatType":
            return number == "float64"
        case "BoolType":
            return number == "bool"
        case "NumberType":
            return number is not None
        case "StringType":
            return isinstance(form, Same) and isinstance(form.value, str)
        case "TupleType":
            return isinstance(form, TupleForm) and len(form.fields) == len(kind.elements())
        case "DictType":
            return isinstance(form, DictForm)
        case "ListType":
            if not isinstance(form, ListForm | ChainForm):
                return False
            inside = form.items if isinstance(form, ListForm) else (form.element,)
            return all(fits(one, kind.getElementType()) for one in inside)
    return not isinstance(form, Same) and name in ("ClassType", "InterfaceType")


# --- what lists and dictionaries, tensors and tuples have in common


@table("aten::__getitem__")
def get_item(converter: Converter, path: Path, call: Call, value: Any, key: Any) -> Any:
    match value:
        case DictCell():
            return containers.dict_item(converter, path, call, value, key)
        case ListCell():
            return containers.get_item(converter, path, call, value, key)
        case tuple() | str():
            return value[key]
    raise FrontendError.of("elements of such a value are not known", call.span)
