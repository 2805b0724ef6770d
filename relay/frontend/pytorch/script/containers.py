"""Lists, tuples and dictionaries.

A list of known length holds its values. One of a length that a run knows is a list of Relay with
the last element first, and its length: `append`, `pop` and `l[-1]` take constant time. Dictionaries
have keys that are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import op
from relay.errors import VALUE, FrontendError
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.script.coding import (
    a_number,
    builder,
    chained,
    constructor,
    content,
    decoded,
    encoded,
    enter,
    function,
    new,
    numbered,
    shared_of,
    spoil,
    unpacked,
)
from relay.frontend.pytorch.script.converter import Converter, Handlers
from relay.frontend.pytorch.script.failing import fail
from relay.frontend.pytorch.script.forms import LIST, ChainForm, Same, joined
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.path import Path, packed
from relay.frontend.pytorch.script.values import (
    NOTHING,
    Cell,
    Chain,
    DictCell,
    ListCell,
    Number,
    Text,
)
from relay.ir import expr as ir
from relay.ir.expr import Expr
from relay.ir.types import TypeCall

table = Handlers()


def held(path: Path, call: Call, value: Any) -> Any:
    """What a list or a dictionary holds."""
    return content(path, value, call.span)


def a_list(path: Path, values: Sequence[Any]) -> ListCell:
    """A new list of known length."""
    found: ListCell = new(path, ListCell(), tuple(values))
    return found


def change(path: Path, cell: Cell, now: Any, *parts: Any) -> None:
    """Replace the content of a list or a dictionary; `parts` are new in it."""
    before = path.get(cell)
    if isinstance(before, tuple):
        parts = (*parts, *before)
    spoil(path, cell)
    path.put(cell, now)
    if isinstance(now, Chain):  # the elements are held by value
        shared = [shared_of(path, part) for part in parts]
        more = frozenset().union(*(one.own | one.parts for one in shared))
        cell.holds |= more
        enter(path, cell, more)


# --- tuples


@table("prim::TupleConstruct")
def tuple_construct(converter: Converter, path: Path, call: Call, *values: Any) -> Any:
    return tuple(values)


@table("prim::TupleUnpack")
def tuple_unpack(converter: Converter, path: Path, call: Call, values: Any) -> list[Any]:
    return [*values]


@table("prim::TupleIndex")
def tuple_index(converter: Converter, path: Path, call: Call, values: Any, place: Any) -> Any:
    return values[place]


# --- lists


@table("prim::ListConstruct")
def list_construct(converter: Converter, path: Path, call: Call, *values: Any) -> Any:
    return a_list(path, values)


@table("prim::ListUnpack")
def list_unpack(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    values = held(path, call, value)
    wanted = len(call.results)
    if isinstance(values, Chain):
        node = builder(path, "unpacking", call.span)
        fits = op.equal(values.count, int64(wanted))
        count = node.checked(
            values.count, fits, "the list has another length", f"{wanted}", VALUE, values.count
        )
        chain = Chain(values.elements, count, values.form)
        return [
            _at(path, call, value, chain, op.subtract(count, int64(k + 1))) for k in range(wanted)
        ]
    if len(values) != wanted:
        fail(path, call, f"a list of {len(values)} is unpacked into {wanted} names")
    return [*values]


@table("aten::list")
def copy(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    if isinstance(value, str):
        return a_list(path, [*value])
    return _derived(path, value, held(path, call, value))


def _derived(path: Path, value: ListCell, now: Any) -> ListCell:
    """A new list with elements of another."""
    holds = shared_of(path, value).parts if isinstance(now, Chain) else frozenset()
    found: ListCell = new(path, ListCell(holds=holds), now)
    return found


def length(path: Path, call: Call, value: Any) -> Any:
    """The number of elements of a list or a dictionary."""
    values = held(path, call, value)
    return a_number(path, values.count) if isinstance(values, Chain) else len(values)


def _at(path: Path, call: Call, cell: Any, chain: Chain, back: Expr) -> Any:
    """The element of a chain at a position from its end."""
    if isinstance(chain.form, Same) and chain.form.value is NOTHING:
        fail(path, call, "an element of a list is used to which nothing was ever added")
        return []
    place = op.cast(back, "int32")
    found = path.typed(
        ir.Call(function(path, "nth"), (chain.elements, place)), chain.form.packed, "element"
    )
    return decoded(
        path, unpacked(path, found, chain.form), chain.form, shared_of(path, cell).inside
    )


def get_item(converter: Converter, path: Path, call: Call, value: Any, place: Any) -> Any:
    """An element of a list."""
    values = held(path, call, value)
    if isinstance(values, tuple):
        if isinstance(place, int):
            if not -len(values) <= place < len(values):
                fail(path, call, "list index out of range")
                return []
            return values[place]
        values = chained(path, value, call.span)
    return _at(path, call, value, values, _from_end(path, call, values, place))


def _from_end(path: Path, call: Call, chain: Chain, place: Any, beyond: int = 0) -> Expr:
    """A checked position, counted from the end of the list."""
    node = builder(path, call.operator, call.span)
    count = chain.count
    if type(place) is int and beyond == 0:
        back = int64(-place - 1) if place < 0 else node.let(op.subtract(count, int64(place + 1)))
        back = node.let(back)
    else:
        at = numbered(path, place, call.span)
        from_end = op.less(at, int64(0))
        end = node.let(op.where(from_end, int64(0), count))
        back = node.let(op.subtract(op.subtract(end, at), int64(1)))
    fits = op.logical_and(op.greater_equal(back, int64(0)), op.less(back, count))
    message = "list index out of range"
    return node.checked(
        back,
        node.let(fits),
        message,
        f"{VALUE} elements",
        VALUE,
        numbered(path, place, call.span),
        count,
    )


@table("aten::append")
def append(converter: Converter, path: Path, call: Call, cell: Any, value: Any) -> Any:
    values = held(path, call, cell)
    if isinstance(values, tuple):
        change(path, cell, (*values, value), value)
        return cell
    chain = chained(path, cell, call.span, value)
    parts = encoded(path, value, chain.form, call.span)
    longer = ir.Call(constructor(path, "Cons"), (packed(parts), chain.elements))
    change(path, cell, _chain(path, chain, longer, op.add(chain.count, int64(1))), value)
    return cell


def _chain(path: Path, like: Chain, elements: Expr, count: Expr) -> Chain:
    ty = TypeCall(LIST, (like.form.packed,))
    return Chain(path.typed(elements, ty, "list"), path.scope.bind(count, "count"), like.form)


def _together(path: Path, call: Call, one: Any, other: Any) -> Any:
    """The content of two lists, one after the other."""
    first, second = (held(path, call, value) for value in (one, other))
    if isinstance(first, tuple) and isinstance(second, tuple):
        return (*first, *second)
    chains = [chained(path, value, call.span) for value in (one, other)]
    form = ChainForm(joined(one.form for one in chains))
    firsts, seconds = (encoded(path, v, form, call.span) for v in (one, other))
    whole = ir.Call(function(path, "concat"), (seconds[0], firsts[0]))
    return _chain(path, Chain(whole, whole, form.element), whole, op.add(firsts[1], seconds[1]))


@table("aten::extend")
def extend(converter: Converter, path: Path, call: Call, cell: Any, other: Any) -> Any:
    change(path, cell, _together(path, call, cell, other), other)
    return cell


def add(converter: Converter, path: Path, call: Call, one: Any, other: Any) -> Any:
    """The concatenation of two lists."""
    now = _together(path, call, one, other)
    shared = shared_of(path, one) | shared_of(path, other)
    holds = shared.parts if isinstance(now, Chain) else frozenset()
    return new(path, ListCell(holds=holds), now)


def times(converter: Converter, path: Path, call: Call, cell: Any, count: Any) -> Any:
    """A list repeated."""
    values = held(path, call, cell)
    if isinstance(values, tuple) and type(count) is int:
        return a_list(path, values * count)
    raise FrontendError.of("a list is repeated a number of times that a run computes", call.span)


@table("aten::pop")
def pop(converter: Converter, path: Path, call: Call, cell: Any, place: Any = -1, *_: Any) -> Any:
    if isinstance(cell, DictCell):
        values = dict(held(path, call, cell))
        key = _key(path, call, place, values)
        found = values.pop(key) if key in values else (_[0] if _ else None)
        change(path, cell, values)
        return found
    values = held(path, call, cell)
    if isinstance(values, tuple) and isinstance(place, int):
        if not -len(values) <= place < len(values):
            fail(path, call, "pop index out of range")
            return []
        rest = [*values]
        found = rest.pop(place)
        change(path, cell, tuple(rest))
        return found
    chain = chained(path, cell, call.span)
    back = _from_end(path, call, chain, place)
    found = _at(path, call, cell, chain, back)
    shorter = ir.Call(function(path, "erase_at"), (chain.elements, op.cast(back, "int32")))
    change(path, cell, _chain(path, chain, shorter, op.subtract(chain.count, int64(1))))
    return found


@table("aten::Delete")
def delete(converter: Converter, path: Path, call: Call, cell: Any, place: Any) -> list[Any]:
    if isinstance(cell, DictCell):
        values = dict(held(path, call, cell))
        if values.pop(_key(path, call, place, values), values) is values:
            fail(path, call, "the dictionary has no such key")
        change(path, cell, values)
        return []
    pop(converter, path, call, cell, place)
    return []


@table("aten::insert")
def insert(converter: Converter, path: Path, call: Call, cell: Any, place: Any, value: Any) -> Any:
    values = held(path, call, cell)
    if isinstance(values, tuple) and isinstance(place, int):
        rest = [*values]
        rest.insert(place, value)
        change(path, cell, tuple(rest), value)
        return []
    chain = chained(path, cell, call.span, value)
    node = builder(path, call.operator, call.span)
    at = numbered(path, place, call.span)
    front = node.let(op.where(op.less(at, int64(0)), op.add(at, chain.count), at))
    front = node.let(op.minimum(op.maximum(front, int64(0)), chain.count))
    back = op.cast(op.subtract(chain.count, front), "int32")
    parts = encoded(path, value, chain.form, call.span)
    longer = ir.Call(function(path, "insert_at"), (chain.elements, back, packed(parts)))
    change(path, cell, _chain(path, chain, longer, op.add(chain.count, int64(1))), value)
    return []


@table("aten::_set_item")
def set_item(
    converter: Converter, path: Path, call: Call, cell: Any, place: Any, value: Any
) -> Any:
    if isinstance(cell, DictCell):
        values = dict(held(path, call, cell))
        values[_key(path, call, place, values)] = value
        change(path, cell, values)
        return []
    values = held(path, call, cell)
    if isinstance(values, tuple) and isinstance(place, int):
        if not -len(values) <= place < len(values):
            fail(path, call, "list index out of range")
            return []
        rest = [*values]
        rest[place] = value
        change(path, cell, tuple(rest), value)
        return cell
    chain = chained(path, cell, call.span, value)
    back = op.cast(_from_end(path, call, chain, place), "int32")
    parts = encoded(path, value, chain.form, call.span)
    other = ir.Call(function(path, "update"), (chain.elements, back, packed(parts)))
    change(path, cell, _chain(path, chain, other, chain.count), value)
    return cell


@table("aten::clear")
def clear(converter: Converter, path: Path, call: Call, cell: Any) -> list[Any]:
    change(path, cell, {} if isinstance(cell, DictCell) else ())
    return []


@table("aten::reverse")
def reverse(converter: Converter, path: Path, call: Call, cell: Any) -> list[Any]:
    values = held(path, call, cell)
    if isinstance(values, tuple):
        change(path, cell, values[::-1])
        return []
    back = ir.Call(function(path, "rev"), (values.elements,))
    change(path, cell, _chain(path, values, back, values.count))
    return []


def slice_of(
    converter: Converter,
    path: Path,
    call: Call,
    cell: Any,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Any:
    """Part of a list."""
    values = held(path, call, cell)
    if isinstance(values, tuple) and all(
        one is None or type(one) is int for one in (start, end, step)
    ):
        return a_list(path, values[start:end:step])
    if type(step) is not int or step < 1:
        raise FrontendError.of("the step of a slice is computed", call.span, "a number above 0")
    chain = chained(path, cell, call.span)
    node = builder(path, call.operator, call.span)
    count, zero = chain.count, int64(0)

    def bound(value: Any, default: Expr) -> Expr:
        if value is None:
            return default
        at = numbered(path, value, call.span)
        front = node.let(op.where(op.less(at, zero), op.add(at, count), at))
        return node.let(op.minimum(op.maximum(front, zero), count))

    first, last = bound(start, zero), bound(end, count)
    width = op.add(op.subtract(last, first), int64(step - 1))
    many = node.let(op.maximum(op.floor_divide(node.let(width), int64(step)), zero))
    behind = op.add(first, op.multiply(op.subtract(many, int64(1)), int64(step)))
    skip = op.subtract(op.subtract(count, int64(1)), node.let(behind))
    args = (op.cast(node.let(skip), "int32"), op.cast(many, "int32"), ir.const(step, "int32"))
    part = ir.Call(function(path, "slice_of"), (chain.elements, *args))
    return _derived(path, cell, _chain(path, chain, part, many))


@table("aten::sort")
def sort(
    converter: Converter, path: Path, call: Call, cell: Any, backwards: Any = False
) -> list[Any]:
    values = held(path, call, cell)
    if isinstance(values, Chain) or any(isinstance(one, Number) for one in values):
        raise FrontendError.of("a list of computed values is sorted", call.span)
    change(path, cell, tuple(sorted(values, reverse=bool(backwards))))
    return []


# --- dictionaries


@table("prim::DictConstruct")
def dict_construct(converter: Converter, path: Path, call: Call, *values: Any) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(values[::2], values[1::2], strict=True):
        made[_key(path, call, key, made)] = value
    return new(path, DictCell(), made)


def _key(path: Path, call: Call, key: Any, values: Any) -> Any:
    if isinstance(key, Text | Number | Cell) or not isinstance(key, str | int | float):
        hint = "use a list, or keys that are constants"
        raise FrontendError.of(
            "a key of a dictionary is computed", call.span, "a constant", hint=hint
        )
    return key


def dict_item(converter: Converter, path: Path, call: Call, cell: Any, key: Any) -> Any:
    """The value of a key."""
    values = held(path, call, cell)
    key = _key(path, call, key, values)
    if key not in values:
        fail(path, call, f"the dictionary has no key {key!r}")
        return []
    return values[key]


@table("aten::get")
def get(
    converter: Converter, path: Path, call: Call, cell: Any, key: Any, default: Any = None
) -> Any:
    values = held(path, call, cell)
    return values.get(_key(path, call, key, values), default)


@table("aten::keys")
def keys(converter: Converter, path: Path, call: Call, cell: Any) -> Any:
    return a_list(path, [*held(path, call, cell)])


@table("aten::values")
def values_of(converter: Converter, path: Path, call: Call, cell: Any) -> Any:
    return a_list(path, [*held(path, call, cell).values()])


@table("aten::items")
def items(converter: Converter, path: Path, call: Call, cell: Any) -> Any:
    return a_list(path, [*held(path, call, cell).items()])


@table("aten::update")
def update(converter: Converter, path: Path, call: Call, cell: Any, other: Any) -> list[Any]:
    change(path, cell, {**held(path, call, cell), **held(path, call, other)}, other)
    return []


@table("aten::setdefault")
def set_default(
    converter: Converter, path: Path, call: Call, cell: Any, key: Any, value: Any
) -> Any:
    values = dict(held(path, call, cell))
    found = values.setdefault(_key(path, call, key, values), value)
    change(path, cell, values)
    return found
