"""The form of a value: which part of it is known, and the types of the rest.

    3                          Same(3)
    a tensor                   TensorForm(Tensor[(2, 3), float32])
    [x, 2]                     ListForm((TensorForm(…), Same(2)))
    [x], [x, y]                ChainForm(TensorForm(…)): a list of a length that a run knows
    None, a tensor             UnionForm((Same(None), TensorForm(…)))

Values of several paths are joined to one form. Tensors whose extents differ become a tensor of
unknown extents; those that have nothing in common become a union.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from relay.frontend.pytorch.scope import Grid
from relay.frontend.pytorch.script.path import packed_type
from relay.frontend.pytorch.script.values import NOTHING
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Symbol
from relay.ir.types import GlobalTypeVar, TensorType, Type, TypeCall

LIST = GlobalTypeVar("List")
COUNT = TensorType((), "int64")


@frozen
class Form:
    """What a value is made of."""

    @property
    def key(self) -> object:
        """Forms of one key have a common form that is no union."""
        return type(self)

    @property
    def parts(self) -> tuple[Form, ...]:
        """The forms of its parts, side by side."""
        return ()

    def leaves(self) -> list[Type]:
        """The types of the expressions that hold what is not known."""
        return [ty for part in self.parts for ty in part.leaves()]

    @property
    def packed(self) -> Type:
        """The type of a value in one expression."""
        return packed_type(self.leaves())


@frozen
class Same(Form):
    """A value that is known; `key_of_value` tells 1 from True and from 1.0."""

    value: Any
    key_of_value: object

    @property
    def key(self) -> object:
        kind = number_type(self.value)
        return (NumberForm, kind) if kind is not None else (Same, self.key_of_value)


@frozen
class TensorForm(Form):
    """A tensor, with `pairs` one of complex numbers, with a grid a quantized one."""

    type: TensorType
    pairs: bool = False
    grid: Grid | None = None

    @property
    def key(self) -> object:
        return TensorForm, self.type.dtype, len(self.type.shape), self.pairs, self.grid

    def leaves(self) -> list[Type]:
        return [self.type]


@frozen
class NumberForm(Form):
    """A number of an element type."""

    dtype: str

    @property
    def key(self) -> object:
        return NumberForm, self.dtype

    def leaves(self) -> list[Type]:
        return [TensorType((), self.dtype)]


@frozen
class TupleForm(Form):
    """Several values."""

    fields: tuple[Form, ...]

    @property
    def key(self) -> object:
        return TupleForm, len(self.fields)

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.fields


@frozen
class ListForm(Form):
    """A list of known length."""

    items: tuple[Form, ...]

    @property
    def key(self) -> object:
        return ListForm, len(self.items)

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.items


@frozen
class ChainForm(Form):
    """A list of a length that a run knows: the elements, the last one first, and their number."""

    element: Form

    @property
    def key(self) -> object:
        return ListForm

    def leaves(self) -> list[Type]:
        return [TypeCall(LIST, (self.element.packed,)), COUNT]


@frozen
class DictForm(Form):
    """A dictionary of known keys."""

    keys: tuple[Any, ...]
    items: tuple[Form, ...]

    @property
    def key(self) -> object:
        return DictForm, self.keys

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.items


@frozen
class ObjectForm(Form):
    """An object of a class."""

    name: str
    attributes: tuple[str, ...]
    items: tuple[Form, ...]

    @property
    def key(self) -> object:
        return ObjectForm, self.name, self.attributes

    @property
    def parts(self) -> tuple[Form, ...]:
        return self.items


@frozen
class UnionForm(Form):
    """One of several forms of different keys."""

    forms: tuple[Form, ...]

    @property
    def type(self) -> TypeCall:
        return TypeCall(
            GlobalTypeVar(f"OneOf{len(self.forms)}"), tuple(form.packed for form in self.forms)
        )

    def leaves(self) -> list[Type]:
        return [self.type]


def same(value: Any) -> Same:
    """The form of a value that is known."""
    if isinstance(value, bool | int | float | complex | str):
        return Same(value, (type(value).__name__, repr(value)))
    if isinstance(value, Symbol):
        return Same(value, value)
    return Same(value, value if value is None else id(value))


def number_type(value: Any) -> str | None:
    """The element type of a number; None for any other value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | Symbol):
        return "int64"
    return "float64" if isinstance(value, float) else None


def joined(forms: Iterable[Form], *, apart: bool = False) -> Form:
    """The common form; with `apart` lists of different lengths stay different forms."""
    return reduce(_apart if apart else join, forms)


def _apart(one: Form, other: Form) -> Form:
    if isinstance(one, ListForm) and isinstance(other, ListForm) and one.key != other.key:
        return _union([one, other])
    return join(one, other)


def join(one: Form, other: Form) -> Form:
    """The common form of two."""
    if one == other:
        return one
    for form, rest in ((one, other), (other, one)):
        if isinstance(form, Same) and form.value is NOTHING:
            return rest
    if isinstance(one, UnionForm) or isinstance(other, UnionForm):
        return _union([*_forms(one), *_forms(other)])
    lists = isinstance(one, ListForm | ChainForm) and isinstance(other, ListForm | ChainForm)
    if one.key != other.key and not lists:
        return _union([one, other])
    match one, other:
        case TensorForm(type=a), TensorForm(type=b):
            pairs = zip(a.shape, b.shape, strict=True)
            shape = tuple(m if dims.equal(m, n) is True else dims.ANY for m, n in pairs)
            return TensorForm(TensorType(shape, a.dtype), one.pairs, one.grid)
        case ((Same() | NumberForm()), (Same() | NumberForm())):
            kind = one.dtype if isinstance(one, NumberForm) else number_type(one.value)
            assert kind is not None  # other values of one key are equal
            return NumberForm(kind)
        case TupleForm(), TupleForm():
            return TupleForm(_each(one.fields, other.fields))
        case ListForm(), ListForm() if len(one.items) == len(other.items):
            return ListForm(_each(one.items, other.items))
        case ((ListForm() | ChainForm()), (ListForm() | ChainForm())):
            return ChainForm(joined([*_elements(one), *_elements(other)]))
        case DictForm(), DictForm():
            return DictForm(one.keys, _each(one.items, other.items))
        case ObjectForm(), ObjectForm():
            return ObjectForm(one.name, one.attributes, _each(one.items, other.items))
    raise AssertionError(f"{one} and {other}")


def _each(some: Sequence[Form], others: Sequence[Form]) -> tuple[Form, ...]:
    return tuple(join(a, b) for a, b in zip(some, others, strict=True))


def _elements(form: Form) -> tuple[Form, ...]:
    if isinstance(form, ChainForm):
        return (form.element,)
    assert isinstance(form, ListForm)
    return form.items or (same(NOTHING),)


def _forms(form: Form) -> tuple[Form, ...]:
    return form.forms if isinstance(form, UnionForm) else (form,)


def _union(forms: Sequence[Form]) -> Form:
    """A union of forms, of which those of one key are joined."""
    found: dict[object, Form] = {}
    for form in forms:
        known = found.get(form.key)
        found[form.key] = form if known is None else join(known, form)
    return UnionForm(tuple(found.values())) if len(found) > 1 else next(iter(found.values()))
