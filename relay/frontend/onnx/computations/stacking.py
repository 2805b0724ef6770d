"""Lists of tensors as one tensor: two neighbours at a time, until one is left.

    [a, b, c, d, e]  ->  [ab, cd, e]  ->  [abcd, e]  ->  abcde

So every element is copied as often as the number of elements has digits, in base two. The functions
are made for a type of elements when they are first needed.
"""

from __future__ import annotations

from relay.ir.dims import Any
from relay.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
    Tuple,
    Var,
    const,
)
from relay.ir.module import IRModule
from relay.ir.types import GlobalTypeVar, TensorType, TypeCall
from relay.op import concatenate, logical_not


def list_of(element: TensorType) -> TypeCall:
    return TypeCall(GlobalTypeVar("List"), (element,))


def concatenated(
    module: IRModule,
    values: Expr,
    element: TensorType,
    axis: int,
    nothing: Expr,
    *,
    newest_first: bool = False,
) -> Expr:
    """The tensors of a list, whose type is `element`, one behind the other along an axis; of an
    empty list, `nothing`. `newest_first`: the list is in the opposite order."""
    return Call(_merge_all(module, element, axis), (values, const(newest_first), nothing))


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
