"""Values as expressions of a form, and expressions as values.

form_of    [x, 2]                     ListForm((TensorForm(…), Same(2)))
encoded    [x, 2] in that form        (%x,)
decoded    (%y,) of that form         [y, 2], in new cells
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from relay import op, tree
from relay.errors import FrontendError, SourceName, Span
from relay.frontend.common.builder import static
from relay.frontend.common.scope import type_of
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.script.forms import (
    LIST,
    ChainForm,
    DictForm,
    Form,
    ListForm,
    NumberForm,
    ObjectForm,
    Same,
    TensorForm,
    TupleForm,
    UnionForm,
    joined,
    number_type,
    same,
)
from relay.frontend.pytorch.script.path import Path, packed
from relay.frontend.pytorch.script.values import (
    NOTHING,
    Cases,
    Cell,
    Chain,
    DictCell,
    Held,
    Known,
    ListCell,
    Number,
    ObjectCell,
    Stale,
    TensorCell,
    Text,
    UnionCell,
    View,
)
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.adt import TypeData
from relay.ir.dims import Symbol
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    Match,
    PatternConstructor,
    PatternVar,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.types import GlobalTypeVar, TensorType, TypeCall, TypeVar
from relay.prelude import import_from_std


def builder(path: Path, operator: str, span: Span, name: str = "") -> Node:
    """What converters build with, in the scope of a path."""
    return Node(operator, span, path.scope, name)


def content(path: Path, cell: Cell, span: Span | None = None) -> Any:
    """What a cell holds; refused where it may have changed."""
    found = path.get(cell)
    if isinstance(found, Stale):
        raise FrontendError.of(
            f"a {cell.what} is used that may have been changed through another name",
            span,
            expected="one name for what is changed in place",
            found=found.reason,
            hint="make a copy with `.clone()`, or assign the result to a new name",
        )
    return found


def resolved(path: Path, value: Any) -> Any:
    """A value of a union that is known on this path."""
    while isinstance(value, UnionCell) and isinstance(found := path.get(value), Known):
        value = found.value
    return value


def tensor(path: Path, cell: TensorCell, span: Span | None = None) -> Expr | Complex:
    """The expression of a tensor."""
    found = content(path, cell, span)
    views: list[tuple[TensorCell, View]] = []
    while isinstance(found, View):
        views.append((cell, found))
        cell = found.base
        found = content(path, cell, span)
    if isinstance(found, Held):
        node = builder(path, "a number", span or _NOWHERE)
        found = node.scalar(found.number, number_type(found.number) or "float64")
    for cell, view in reversed(views):
        known = next((one.views[cell] for one in path.outwards() if cell in one.views), None)
        if known is None or known[0] is not found:
            known = path.views[cell] = (found, view.make(path, found))
        found = known[1]
    return found  # type: ignore[no-any-return]


_NOWHERE = Span(SourceName("the script"))


def numbered(path: Path, value: Any, span: Span) -> Expr:
    """A number as a scalar of its own element type."""
    if isinstance(value, Number):
        return value.value
    kind = number_type(value)
    assert kind is not None
    return builder(path, "a number", span).scalar(value, kind)


def a_number(path: Path, value: Expr) -> Any:
    """A scalar as a number: Python's where it is constant."""
    if isinstance(value, Constant):
        return value.data.array.item()
    ty = type_of(value)
    assert isinstance(ty, TensorType)
    path.scope.numbers.add(value)
    return Number(value, ty.dtype)


# --- forms


def form_of(path: Path, value: Any, span: Span) -> Form:
    """The form of a value."""
    found: Form = tree.run(_form(path, value, span))
    return found


def _form(path: Path, value: Any, span: Span) -> tree.Steps[Form]:
    value = resolved(path, value)
    match value:
        case Number(dtype=dtype):
            return NumberForm(dtype)
        case tuple():
            return TupleForm((yield _forms(path, value, span)))
        case TensorCell():
            found = tensor(path, value, span)
            pairs = isinstance(found, Complex)
            ty = type_of(found.pairs if isinstance(found, Complex) else found)
            assert isinstance(ty, TensorType)
            grid = None if isinstance(found, Complex) else path.scope.quantized.get(found)
            return TensorForm(ty, pairs, grid)
        case ListCell():
            held = content(path, value, span)
            if isinstance(held, Chain):
                return ChainForm(held.form)
            return ListForm((yield _forms(path, held, span)))
        case DictCell():
            held = content(path, value, span)
            return DictForm(tuple(held), (yield _forms(path, tuple(held.values()), span)))
        case ObjectCell():
            held = dict(sorted(content(path, value, span).items()))
            items = yield _forms(path, tuple(held.values()), span)
            return ObjectForm(value.name, tuple(held), items)
        case UnionCell():
            return UnionForm(content(path, value, span).forms)
        case Text():
            return same(value.text)
    return same(value)


def _forms(path: Path, values: Sequence[Any], span: Span) -> tree.Steps[tuple[Form, ...]]:
    found = []
    for value in values:
        found.append((yield _form(path, value, span)))
    return tuple(found)


# --- from values to expressions


def encoded(path: Path, value: Any, form: Form, span: Span) -> list[Expr]:
    """The expressions of a value in a form that includes its own."""
    found: list[Expr] = tree.run(_encoded(path, value, form, span))
    return found


def _encoded(path: Path, value: Any, form: Form, span: Span) -> tree.Steps[Any]:
    value = resolved(path, value)
    if value is NOTHING and form.leaves():
        return _anything(path, form, span)
    match form:
        case Same():
            return []
        case TensorForm(type=ty):
            found = tensor(path, value, span)
            plain = found.pairs if isinstance(found, Complex) else found
            return [plain if type_of(plain) == ty else path.typed(plain, ty)]
        case NumberForm():
            return [numbered(path, value, span)]
        case TupleForm(fields=fields):
            return _all(path, value, fields, span)
        case ListForm(items=items):
            return _all(path, content(path, value, span), items, span)
        case DictForm(items=items):
            held = content(path, value, span)
            return _all(path, tuple(held.values()), items, span)
        case ObjectForm(items=items):
            held = dict(sorted(content(path, value, span).items()))
            return _all(path, tuple(held.values()), items, span)
        case ChainForm():
            chain = yield _chain(path, content(path, value, span), form, span)
            return [chain.elements, chain.count]
        case UnionForm():
            return [(yield _case(path, value, form, span))]
    raise AssertionError(form)


def _all(
    path: Path, values: Sequence[Any], forms: Sequence[Form], span: Span
) -> tree.Steps[list[Expr]]:
    found: list[Expr] = []
    for value, form in zip(values, forms, strict=True):
        found += yield _encoded(path, value, form, span)
    return found


def _anything(path: Path, form: Form, span: Span) -> tree.Steps[list[Expr]]:
    """Expressions of a form, of a value that is never used."""
    node = builder(path, "a value that is never used", span)
    match form:
        case TensorForm(type=ty):
            shape = [0 if isinstance(one, dims.Any) else one for one in ty.shape]
            zero = node.scalar(0, ty.dtype)
            if (numbers := static(shape)) is not None:
                return [path.typed(node.let(op.broadcast_to(zero, numbers)), ty)]
            return [node.declare(op.dyn.broadcast_to(zero, node.sizes(shape)), ty.shape, ty.dtype)]
        case NumberForm(dtype=dtype):
            return [node.scalar(0, dtype)]
        case ChainForm():
            empty = Call(constructor(path, "Nil"), ())
            return [path.typed(empty, form.leaves()[0]), node.scalar(0, "int64")]
        case UnionForm(forms=(first, *_)):
            parts = yield _anything(path, first, span)
            made = Call(case_of(path.scope.module, len(form.forms), 0), (packed(parts),))
            return [path.typed(made, form.type)]
    found: list[Expr] = []
    for part in form.parts:
        found += yield _anything(path, part, span)
    return found


def _chain(path: Path, held: Any, form: ChainForm, span: Span) -> tree.Steps[Chain]:
    """What a list holds as a chain of elements of a form."""
    ty = TypeCall(LIST, (form.element.packed,))
    if isinstance(held, Chain):
        if held.form == form.element:
            return held
        changed = yield _mapped(path, held, form.element, span)
        return Chain(path.typed(changed, ty, "list"), held.count, form.element)
    cons, nil = constructor(path, "Cons"), constructor(path, "Nil")
    made: Expr = Call(nil, ())
    for value in held:
        parts = yield _encoded(path, value, form.element, span)
        made = Call(cons, (packed(parts), made))
    count = builder(path, "len", span).scalar(len(held), "int64")
    return Chain(path.typed(made, ty, "list"), count, form.element)


def _mapped(path: Path, chain: Chain, form: Form, span: Span) -> tree.Steps[Expr]:
    """The elements of a chain in another form."""
    one = Var("one", chain.form.packed)
    inner = path.inner()
    value = decoded(inner, unpacked(inner, one, chain.form), chain.form)
    parts = yield _encoded(inner, value, form, span)
    function = Function((one,), inner.close(parts, form.leaves()), form.packed)
    return Call(path.scope.module.get_global_var("map"), (function, chain.elements))


def chained(path: Path, cell: ListCell, span: Span, *more: Any) -> Chain:
    """What a list holds as a chain whose elements may be these values too."""
    held = content(path, cell, span)
    forms = [held.form] if isinstance(held, Chain) else [form_of(path, v, span) for v in held]
    forms += [form_of(path, value, span) for value in more]
    element = joined([same(NOTHING), *forms])
    found: Chain = tree.run(_chain(path, held, ChainForm(element), span))
    return found


def _case(path: Path, value: Any, form: UnionForm, span: Span) -> tree.Steps[Expr]:
    """A value as a case of a union."""
    if isinstance(value, UnionCell):
        cases: Cases = content(path, value, span)
        if cases.forms == form.forms:
            return cases.value
        clauses = []
        for pattern, inner, leaves, own in opened(path, cases):
            again = decoded(inner, leaves, own)
            clauses.append(
                Clause(pattern, inner.close([(yield _case(inner, again, form, span))], [form.type]))
            )
        return path.typed(Match(cases.value, tuple(clauses)), form.type)
    own = yield _form(path, value, span)
    place = next(place for place, one in enumerate(form.forms) if one.key == own.key)
    parts = yield _encoded(path, value, form.forms[place], span)
    made = Call(case_of(path.scope.module, len(form.forms), place), (packed(parts),))
    return path.typed(made, form.type)


def opened(path: Path, cases: Cases) -> list[tuple[PatternConstructor, Path, list[Expr], Form]]:
    """For each case of a union its pattern, a path that it takes, its expressions, and its form."""
    found = []
    for place, form in enumerate(cases.forms):
        inner = path.inner()
        inside = Var("case", form.packed)
        maker = case_of(path.scope.module, len(cases.forms), place)
        leaves = unpacked(inner, inside, form)
        found.append((PatternConstructor(maker, (PatternVar(inside),)), inner, leaves, form))
    return found


# --- from expressions to values


def unpacked(path: Path, whole: Expr, form: Form) -> list[Expr]:
    """The expressions of a packed value."""
    types = form.leaves()
    return [whole] if len(types) == 1 else path.fields(whole, types)


@frozen
class Shared:
    """The cells that a value may be, and those that its parts may be."""

    own: frozenset[Cell] = frozenset()
    parts: frozenset[Cell] = frozenset()

    def __or__(self, other: Shared) -> Shared:
        return Shared(self.own | other.own, self.parts | other.parts)

    @property
    def inside(self) -> Shared:
        """The same of a part."""
        return Shared(self.parts, self.parts)


def decoded(path: Path, leaves: Sequence[Expr], form: Form, shared: Shared | None = None) -> Any:
    """The value that expressions of a form stand for, in new cells that may share memory with
    others."""
    rest = [*leaves]
    found = tree.run(_decoded(path, rest, form, shared or Shared()))
    assert not rest
    return found


def _decoded(path: Path, rest: list[Expr], form: Form, shared: Shared) -> tree.Steps[Any]:
    own, holds = shared.own, shared.parts
    if isinstance(form, TensorForm):
        value = rest.pop(0)
        if form.grid is not None:
            path.scope.quantized[value] = form.grid
        return new(path, TensorCell(own), Complex(value) if form.pairs else value)
    if isinstance(form, NumberForm):
        return a_number(path, rest.pop(0))
    if isinstance(form, ChainForm):
        elements, count = rest.pop(0), rest.pop(0)
        return new(path, ListCell(own, holds), Chain(elements, count, form.element))
    if isinstance(form, UnionForm):
        return new(path, UnionCell(own, holds), Cases(rest.pop(0), form.forms))
    if isinstance(form, Same):
        return form.value
    parts = []
    for part in form.parts:
        parts.append((yield _decoded(path, rest, part, shared.inside)))
    match form:
        case ListForm():
            return new(path, ListCell(own), tuple(parts))
        case DictForm(keys=keys):
            return new(path, DictCell(own), dict(zip(keys, parts, strict=True)))
        case ObjectForm(name=name, attributes=attributes):
            cell = ObjectCell(name, own)
            return new(path, cell, dict(zip(attributes, parts, strict=True)))
    return tuple(parts)


def new(path: Path, cell: Any, held: Any) -> Any:
    """A new cell of a path, known to those that may share memory with it."""
    enter(path, cell, cell.origins | cell.holds)
    return path.new(cell, held)


def enter(path: Path, cell: Cell, origins: Iterable[Cell]) -> None:
    """Make a cell known to those that may share memory with it."""
    for origin in origins:
        path.scope.sharing.setdefault(origin, []).append(cell)


def new_tensor(path: Path, value: Any, origins: frozenset[Cell] = frozenset()) -> TensorCell:
    """A tensor as a new cell."""
    found: TensorCell = new(path, TensorCell(origins), value)
    return found


def spoil(path: Path, cell: Cell, but: Container[Cell] = ()) -> None:
    """After a change of a cell: what may share memory with it is no longer known."""
    for origin in cell.origins:
        for other in path.scope.sharing.get(origin, ()):
            if other is not cell and other not in but and path.has(other):
                path.put(other, Stale(f"it may be, or hold, the {cell.what} that is changed"))


def shared_of(path: Path, value: Any) -> Shared:
    """The memories that a value, and its parts, may share."""
    if isinstance(value, Cell):
        return Shared(value.origins, value.holds | _inside(path, [_held(path, value)]))
    parts = _inside(path, [value])
    return Shared(parts, parts)


def _held(path: Path, cell: Cell) -> Any:
    found = path.get(cell) if path.has(cell) else None
    return found.base if isinstance(found, View) else found


def _inside(path: Path, values: list[Any]) -> frozenset[Cell]:
    found: set[Cell] = set()
    pending, seen = [*values], set()
    while pending:
        one = pending.pop()
        match one:
            case tuple():
                pending += one
            case dict():
                pending += one.values()
            case Known():
                pending.append(one.value)
            case Cell() if one not in seen:
                seen.add(one)
                found |= one.origins | one.holds
                pending.append(_held(path, one))
    return frozenset(found)


# --- the standard library


def constructor(path: Path, name: str) -> Constructor:
    return path.scope.module.get_constructor(name)


def function(path: Path, name: str) -> Expr:
    """A function of the standard library."""
    import_from_std(path.scope.module, "sequence.rly")
    return path.scope.module.get_global_var(name)


def case_of(module: IRModule, count: int, place: int) -> Constructor:
    """A constructor of the data type of one of several values."""
    header = GlobalTypeVar(f"OneOf{count}")
    if module.find_type(header.name_hint) is None:
        variables = tuple(TypeVar(f"A{place}") for place in range(count))
        makers = tuple(
            Constructor(f"Case{place}Of{count}", (variable,), header)
            for place, variable in enumerate(variables)
        )
        module[header] = TypeData(header, variables, makers)
    return module.get_constructor(f"Case{place}Of{count}")


def is_number(value: Any) -> bool:
    """Whether a value is a number, known or not."""
    return isinstance(value, Number) or number_type(value) is not None


def is_dim(value: Any) -> bool:
    """Whether a value is a known integer or a dimension."""
    return isinstance(value, int | Symbol) and not isinstance(value, bool)
