"""Values of a program as its callers see them.

List[Tensor]               List[Tensor[…]], the first element first
Tuple, list of known length, dictionary    a tuple
None, and values that are known and no numbers     ()
Optional[Tensor]           Option[Tensor[…]], where a run decides
one of several forms       a data type with a constructor for each
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from relay import op, tree
from relay.errors import FrontendError, Span
from relay.frontend.common.naming import quoted
from relay.frontend.pytorch.script.coding import (
    case_of,
    constructor,
    decoded,
    encoded,
    form_of,
    unpacked,
)
from relay.frontend.pytorch.script.forms import (
    LIST,
    ChainForm,
    DictForm,
    Form,
    ListForm,
    NumberForm,
    Same,
    TensorForm,
    TupleForm,
    UnionForm,
    number_type,
    same,
)
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.types import COMPLEX, element_type
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    Match,
    PatternConstructor,
    PatternVar,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.types import GlobalTypeVar, TensorType, TupleType, Type, TypeCall, as_dim
from relay.nd import NDArray

OPTION = GlobalTypeVar("Option")


# --- types


def outer_type(form: Form) -> Type:
    """The type of a value of a form outside of the program."""
    found: Type = tree.run(_outer_type(form))
    return found


def _outer_type(form: Form) -> tree.Steps[Type]:
    match form:
        case TensorForm(type=ty):
            return ty
        case NumberForm(dtype=dtype):
            return TensorType((), dtype)
        case Same(value=value):
            kind = number_type(value)
            return TupleType(()) if kind is None else TensorType((), kind)
        case ChainForm(element=element):
            return TypeCall(LIST, ((yield _outer_type(element)),))
        case UnionForm(forms=forms) if (inside := _optional(forms)) is not None:
            return TypeCall(OPTION, ((yield _outer_type(inside)),))
    parts = []
    for part in form.forms if isinstance(form, UnionForm) else form.parts:
        parts.append((yield _outer_type(part)))
    if isinstance(form, UnionForm):
        return TypeCall(form.type.func, tuple(parts))
    return TupleType(tuple(parts))


def _optional(forms: Sequence[Form]) -> Form | None:
    """The form of what is there, of a value that may be None."""
    rest = [one for one in forms if not (isinstance(one, Same) and one.value is None)]
    return rest[0] if len(rest) == 1 and len(forms) == 2 else None


# --- inputs


def inward(path: Path, value: Expr, form: Form) -> Any:
    """A value of the caller as one of the program."""
    return decoded(path, tree.run(_inner(path, value, form)), form)


def _inner(path: Path, value: Expr, form: Form) -> tree.Steps[list[Expr]]:
    """The expressions that hold a value of the caller."""
    match form:
        case TensorForm() | NumberForm():
            return [value]
        case Same():
            return []
        case ChainForm(element=element):
            prelude = path.scope.module.get_global_var
            elements = value
            if outer_type(element) != element.packed:
                one, there = Var("one", outer_type(element)), path.inner()
                parts = yield _inner(there, one, element)
                body = there.close(parts, element.leaves())
                function = Function((one,), body, element.packed)
                elements = Call(prelude("map"), (function, value))
            backwards = path.typed(Call(prelude("rev"), (elements,)), form.leaves()[0], "list")
            count = op.cast(Call(prelude("length"), (value,)), "int64")
            return [backwards, path.typed(count, TensorType((), "int64"), "count")]
        case UnionForm():
            raise FrontendError.of("an input may be of several kinds", expected="one of them")
    found: list[Expr] = []
    for place, part in enumerate(form.parts):
        field = path.typed(TupleGetItem(value, place), outer_type(part), "field")
        found += yield _inner(path, field, part)
    return found


# --- results


def outward(path: Path, value: Any, span: Span) -> tuple[Expr, Type]:
    """A value of the program for its caller, and its type."""
    form = form_of(path, value, span)
    if any(isinstance(one, TensorForm) and one.grid is not None for one in _everything(form)):
        hint = "take `dequantize()` of it, or `int_repr()`"
        raise FrontendError.of("a result is a quantized tensor", span, hint=hint)
    leaves = encoded(path, value, form, span)
    return tree.run(_outer(path, leaves, form)), outer_type(form)


def _everything(form: Form) -> list[Form]:
    """A form and the forms of its parts."""
    found = [form]
    for one in found:
        found += one.forms if isinstance(one, UnionForm) else one.parts
        found += [one.element] if isinstance(one, ChainForm) else []
    return found


def _outer(path: Path, leaves: list[Expr], form: Form) -> tree.Steps[Any]:
    """The value that expressions hold; they are taken from the list."""
    match form:
        case TensorForm() | NumberForm():
            return leaves.pop(0)
        case Same(value=value):
            kind = number_type(value)
            if kind is not None:
                from relay.frontend.pytorch.script.coding import builder

                return builder(path, "the result", Span(_RESULT)).scalar(value, kind)
            if value is not None and not isinstance(value, str):
                text = "a result is neither a tensor nor a number"
                raise FrontendError.of(text, found=type(value).__name__)
            return Tuple(())
        case ChainForm(element=element):
            prelude = path.scope.module.get_global_var
            elements, _ = leaves.pop(0), leaves.pop(0)
            if outer_type(element) != element.packed:
                one, there = Var("one", element.packed), path.inner()
                whole = yield _outer(there, unpacked(there, one, element), element)
                body = there.close([whole], [outer_type(element)])
                function = Function((one,), body, outer_type(element))
                elements = Call(prelude("map"), (function, elements))
            return path.typed(Call(prelude("rev"), (elements,)), outer_type(form), "list")
        case UnionForm():
            return _outer_case(path, leaves.pop(0), form)
    parts = []
    for part in form.parts:
        parts.append((yield _outer(path, leaves, part)))
    return Tuple(tuple(parts))


def _outer_case(path: Path, value: Expr, form: UnionForm) -> tree.Steps[Expr]:
    ty, inside = outer_type(form), _optional(form.forms)
    clauses = []
    for place, one in enumerate(form.forms):
        maker = case_of(path.scope.module, len(form.forms), place)
        held, there = Var("case", one.packed), path.inner()
        whole = yield _outer(there, unpacked(there, held, one), one)
        if inside is None:
            made = Call(maker, (whole,))
        elif one is inside:
            made = Call(constructor(path, "Some"), (whole,))
        else:
            made = Call(constructor(path, "None"), ())
        result = there.typed(made, ty)
        pattern = PatternConstructor(maker, (PatternVar(held),))
        clauses.append(Clause(pattern, there.close([result], [ty])))
    return path.typed(Match(value, tuple(clauses)), ty)


from relay.errors import SourceName  # noqa: E402

_RESULT = SourceName("the script")


# --- descriptions of inputs


def described(name: str, given: Any, kind: Any) -> Form:
    """The form of an input: of an example, a type, a shape, or a shape and an element type."""
    found: Form = tree.run(_described(name, given, kind))
    return found


def _described(name: str, given: Any, kind: Any) -> tree.Steps[Any]:
    what = kind.kind()
    if what == "OptionalType" and given is not None:
        return _described(name, given, kind.getElementType())
    match given:
        case torch.Tensor():
            return _tensor(tuple(given.shape), given.dtype)
        case np.ndarray() | NDArray():
            return TensorForm(TensorType(tuple(given.shape), str(given.dtype)))
        case TensorType():
            is_number = what in ("IntType", "FloatType", "BoolType")
            return NumberForm(given.dtype) if is_number else TensorForm(given)
        case TypeCall(func=func, args=(inside,)) if func == LIST:
            return ChainForm((yield _described(name, inside, kind.getElementType())))
        case None if what in ("OptionalType", "NoneType", "AnyType"):
            return same(given)
        case bool() | str() if what in _KNOWN[type(given)]:
            return same(given)
        case int() | float() if what in _NUMBERS or what == "NumberType":
            return same(float(given) if what == "FloatType" else given)
        case Mapping() if what == "DictType":
            items = []
            for one in given.values():
                items.append((yield _described(name, one, kind.getValueType())))
            return DictForm(tuple(given), tuple(items))
    if what == "TupleType" and isinstance(given, list | tuple):
        kinds = kind.elements()
        if len(kinds) == len(given):
            fields = []
            for one, inside in zip(given, kinds, strict=True):
                fields.append((yield _described(name, one, inside)))
            return TupleForm(tuple(fields))
    if what == "ListType" and isinstance(given, list):
        items = []
        for one in given:
            items.append((yield _described(name, one, kind.getElementType())))
        return ListForm(tuple(items))
    if what == "ListType":
        return ChainForm((yield _described(name, given, kind.getElementType())))
    return _of_shape(name, given, what)


_KNOWN = {bool: ("BoolType", "NumberType", "AnyType"), str: ("StringType", "AnyType")}
_NUMBERS = {"IntType": "int64", "FloatType": "float64", "BoolType": "bool"}


def _of_shape(name: str, given: Any, what: str) -> Form:
    """The form of a shape, or of a shape and an element type."""
    shape, dtype = given, None
    if (
        isinstance(given, tuple | list)
        and len(given) == 2
        and isinstance(given[1], str | torch.dtype)
    ):
        shape, dtype = given
    if not isinstance(shape, tuple | list):
        raise FrontendError.of(
            f"input {quoted(name)} is described by neither a shape nor an example",
            expected='(1, 3, 224, 224), ((1, 3), "int64"), or a tensor',
            found=repr(given),
        )
    if what in _NUMBERS and not shape:
        return NumberForm(_NUMBERS[what])
    return _tensor(tuple(as_dim(one) for one in shape), dtype or "float32")


def _tensor(shape: tuple[Any, ...], dtype: Any) -> Form:
    if isinstance(dtype, str):
        return TensorForm(TensorType(shape, dtype))
    pairs = dtype in COMPLEX
    return TensorForm(TensorType((*shape, 2) if pairs else shape, element_type(dtype)), pairs)
