"""Tensors one behind the other, as one tensor. The functions are made for a type of elements when
they are first needed.

Of a list, two neighbours at a time, until one is left:

    [a, b, c, d, e]  ->  [ab, cd, e]  ->  [abcd, e]  ->  abcde

Rows that come one at a time are in a list of up to `BLOCK`, and before that in chunks. Four chunks
of one length become one, so that there are never more than a few times log n, the newest first:

    [g, f, e, d, c, b, a], []  +  h                          [], [abcdefgh]
    […], [3 times 8 rows, 32 rows, 128 rows]  +  a row       [], [64 rows, 128 rows]

Every element is copied as often as the number of elements has digits, in base two or four.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.immutable import frozen
from relay.ir.dims import Any
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    Pattern,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    Tuple,
    Var,
    const,
)
from relay.ir.module import IRModule
from relay.ir.types import GlobalTypeVar, TensorType, TypeCall
from relay.op import (
    bitwise_and,
    concatenate,
    equal,
    expand_dims,
    logical_not,
    shape_of,
    stack,
    take,
)

BLOCK = 8  # rows that become a chunk at once; a power of two


def list_of(element: TensorType) -> TypeCall:
    return TypeCall(GlobalTypeVar("List"), (element,))


def concatenated(
    module: IRModule,
    values: Expr,
    element: TensorType,
    axis: int,
    nothing: Expr,
) -> Expr:
    """The tensors of a list, whose type is `element`, one behind the other along an axis; of an
    empty list, `nothing`."""
    return Call(_merge_all(module, element, axis), (values, const(False), nothing))


@frozen
class Rows:
    """Types of rows that come one at a time: of a row, and of chunks of them."""

    row: TensorType
    chunk: TensorType

    @staticmethod
    def of(ty: TensorType) -> Rows:
        """`ty` is the type of a row, in the scope of a loop."""
        chunk = opened(TensorType((Any(), *ty.shape), ty.dtype), 0)
        return Rows(TensorType(chunk.shape[1:], ty.dtype), chunk)

    @property
    def types(self) -> tuple[TypeCall, TypeCall]:
        """Of the list of rows, and of the list of chunks."""
        return list_of(self.row), list_of(self.chunk)

    def all(self, module: IRModule, rows: Expr, chunks: Expr, nothing: Expr) -> Expr:
        """All rows as one tensor, the oldest first; where there are none, `nothing`."""
        return Call(_whole(module, self), (rows, chunks, nothing))


def with_rows(
    module: IRModule,
    number: Expr,
    newest: Sequence[Expr],
    before: Sequence[tuple[Expr, Expr]],
    kinds: Sequence[Rows],
) -> Expr:
    """Lists of rows and chunks, alternately, with a row more in each kind of row; `number` is
    how many there were."""
    cons, nil = module.get_constructor("Cons"), module.get_constructor("Nil")
    longer: list[Expr] = []
    full: list[Expr] = []
    for row, (rows, chunks), kind in zip(newest, before, kinds, strict=True):
        longer += [Call(cons, (row, rows)), chunks]
        full += [Call(nil, ()), Call(_add_block(module, kind), (row, rows, chunks))]
    last = const(BLOCK - 1, "int64")
    return If(equal(bitwise_and(number, last), last), Tuple(tuple(full)), Tuple(tuple(longer)))


def opened(element: TensorType, axis: int) -> TensorType:
    """The type that elements of a list have to have: sizes along the axis, and those with names
    that the functions do not know, are open."""
    shape = [
        size if isinstance(size, int) and place != axis else Any()
        for place, size in enumerate(element.shape)
    ]
    return TensorType(tuple(shape), element.dtype)


def _merge_all(module: IRModule, chunk: TensorType, axis: int) -> GlobalVar:
    """`@merge_all(%chunks, %reversed, %nothing)`: everything in one."""
    name = f"concatenate {chunk} along {axis}"
    all_of, pairs_of = GlobalVar(name), GlobalVar(f"{name}, in pairs")
    if name in module:
        return module.get_global_var(name)
    cons, nil = module.get_constructor("Cons"), module.get_constructor("Nil")
    chunks = list_of(chunk)
    boolean = TensorType((), "bool")

    # pairs(chunks, reversed, done): the chunks in pairs, in the opposite order
    given, turned, done = Var("chunks", chunks), Var("reversed", boolean), Var("done", chunks)
    first, second, rest = Var("first"), Var("second"), Var("rest")
    both = If(
        turned,
        concatenate(Tuple((second, first)), axis),
        concatenate(Tuple((first, second)), axis),
    )
    further = PatternConstructor(cons, (PatternVar(second), PatternVar(rest)))
    last = Var("last")
    pairs = Match(
        given,
        (
            Clause(
                PatternConstructor(cons, (PatternVar(first), further)),
                Call(pairs_of, (rest, turned, Call(cons, (both, done)))),
            ),
            Clause(
                PatternConstructor(cons, (PatternVar(last), PatternWildcard())),
                Call(cons, (last, done)),
            ),
            Clause(PatternWildcard(), done),
        ),
    )
    module[pairs_of] = Function((given, turned, done), pairs, chunks)

    given, turned = Var("chunks", chunks), Var("reversed", boolean)
    only, nothing = Var("only"), Var("nothing", chunk)
    one = PatternConstructor(cons, (PatternVar(only), PatternConstructor(nil)))
    again = Call(pairs_of, (given, turned, Call(nil, ())))
    whole = Match(
        given,
        (
            Clause(one, only),
            Clause(PatternConstructor(nil), nothing),
            Clause(PatternWildcard(), Call(all_of, (again, logical_not(turned), nothing))),
        ),
    )
    module[all_of] = Function((given, turned, nothing), whole, chunk)
    return all_of


def _add_block(module: IRModule, kind: Rows) -> GlobalVar:
    """`@add_block(%newest, %rows, %chunks)`: the chunks, with a block of rows more."""
    name = f"chunks of {kind.row} and a block"
    if name in module:
        return module.get_global_var(name)
    add_block, cons = GlobalVar(name), module.get_constructor("Cons")
    newest, rows = Var("newest", kind.row), Var("rows", list_of(kind.row))
    chunks = Var("chunks", list_of(kind.chunk))
    others = [Var(f"row_{place}") for place in range(BLOCK - 1)]
    pattern: Pattern = PatternWildcard()
    for one in others:
        pattern = PatternConstructor(cons, (PatternVar(one), pattern))
    block = stack(Tuple((*others, newest)), 0)
    body = Match(rows, (Clause(pattern, Call(_push(module, kind.chunk), (block, chunks))),), False)
    module[add_block] = Function((newest, rows, chunks), body, list_of(kind.chunk))
    return add_block


def _push(module: IRModule, chunk: TensorType) -> GlobalVar:
    """`@push(%newest, %chunks)`: chunks are not longer than those after them, so four are of one
    length if the first and the last of them are."""
    name = f"{chunk} behind rows"
    if name in module:
        return module.get_global_var(name)
    push, cons = GlobalVar(name), module.get_constructor("Cons")
    newest, chunks = Var("newest", chunk), Var("chunks", list_of(chunk))
    third, second, first, rest = Var("third"), Var("second"), Var("first"), Var("rest")
    before = PatternConstructor(cons, (PatternVar(first), PatternVar(rest)))
    before = PatternConstructor(cons, (PatternVar(second), before))
    before = PatternConstructor(cons, (PatternVar(third), before))
    in_order = concatenate(Tuple((first, second, third, newest)), 0)
    longer = Call(cons, (newest, chunks))
    body = Match(
        chunks,
        (
            Clause(
                before,
                If(
                    equal(_rows(first), _rows(newest)),
                    Call(push, (in_order, rest)),
                    longer,
                ),
            ),
            Clause(PatternWildcard(), longer),
        ),
    )
    module[push] = Function((newest, chunks), body, list_of(chunk))
    return push


def _rows(chunk: Expr) -> Expr:
    return take(shape_of(chunk, dtype="int64"), const(0, "int64"), axis=0)


def _whole(module: IRModule, kind: Rows) -> GlobalVar:
    """`@whole(%rows, %chunks, %nothing)`: the newest are the fewest, so they go together first."""
    name = f"all of {kind.row}"
    if name in module:
        return module.get_global_var(name)
    whole, cons = GlobalVar(name), module.get_constructor("Cons")
    before_rows = _before(module, f"{name}, rows", kind.row, kind.chunk)
    before_chunks = _before(module, f"{name}, chunks", kind.chunk, kind.chunk)
    rows, chunks = Var("rows", list_of(kind.row)), Var("chunks", list_of(kind.chunk))
    nothing = Var("nothing", kind.chunk)
    last, rest, newest, older = Var("last"), Var("rest"), Var("newest"), Var("older")
    of_chunks = Match(
        chunks,
        (
            Clause(
                PatternConstructor(cons, (PatternVar(newest), PatternVar(older))),
                Call(before_chunks, (older, newest)),
            ),
            Clause(PatternWildcard(), nothing),
        ),
    )
    single = Call(before_rows, (rest, expand_dims(last, 0)))
    body = Match(
        rows,
        (
            Clause(
                PatternConstructor(cons, (PatternVar(last), PatternVar(rest))),
                Call(before_chunks, (chunks, single)),
            ),
            Clause(PatternWildcard(), of_chunks),
        ),
    )
    module[whole] = Function((rows, chunks, nothing), body, kind.chunk)
    return whole


def _before(module: IRModule, name: str, part: TensorType, chunk: TensorType) -> GlobalVar:
    """`@before(%parts, %behind)`: rows or chunks, the newest first, and what comes behind them."""
    before, cons = GlobalVar(name), module.get_constructor("Cons")
    parts, behind = Var("parts", list_of(part)), Var("behind", chunk)
    last, rest = Var("last"), Var("rest")
    own = last if part is chunk else expand_dims(last, 0)
    body = Match(
        parts,
        (
            Clause(
                PatternConstructor(cons, (PatternVar(last), PatternVar(rest))),
                Call(before, (rest, concatenate(Tuple((own, behind)), 0))),
            ),
            Clause(PatternWildcard(), behind),
        ),
    )
    module[before] = Function((parts, behind), body, chunk)
    return before
