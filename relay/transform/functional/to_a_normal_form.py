"""Bind every intermediate value to a variable:

add(exp(%x), 1f)  ->  let %x1 = exp(%x); let %x2 = 1f; let %x3 = add(%x1, %x2); %x3

Afterwards a block (the body of a function, a branch, the right side of a clause) is a chain of
`let`s that ends in a variable, and every value is one operation on variables. Only callees stay in
place: functions of the module, operators, constructors, and primitive functions, and the body of a
function marked `Closure`.

Evaluation order is preserved: the bindings of a block are in that order, and a shared expression is
bound once, where it is first needed:

%0 = exp(%x); add(%0, if (%c) { %0 } else { %x })
->
let %x1 = exp(%x); let %x2 = if (%c) { %x1 } else { %x }; let %x3 = add(%x1, %x2); %x3

for %c: bool

If that is inside another block, it is bound before that one, unless evaluating it may have effects,
fail or diverge (`relay.analysis.demand`). Then it becomes a function:

def @f(%x: int32) -> int32 { @f(%x) }
def @main(%x: int32, %c: bool, %d: bool) {
  %0 = @f(%x);
  if (%c) { %0 } else { if (%d) { %x } else { add(%0, %x) } }
}
->
def @f(%x: int32) -> int32 { let %y = @f(%x); %y }
def @main(%x: int32, %c: bool, %d: bool) {
  let %later = fn () { let %x1 = @f(%x); %x1 };
  let %x5 = if (%c) { let %x2 = %later(); %x2 } else { … { let %x3 = %later(); … } … };
  %x5
}

and if more than one of the blocks may be entered, the function stores its result in a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from relay import tree
from relay.analysis import normal_forms
from relay.analysis.demand import Demand
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.scopes import Scope
from relay.transform.base import FunctionPass
from relay.tree import Steps

__all__ = ["ToANormalForm", "ToANormalFormExpr"]

E = TypeVar("E", bound=ir.Expr)
Binding = tuple[ir.Var, ir.Expr]
# Steps that end with an expression, or with the steps of a tail call.
Naming = Steps[Any]


@frozen
class ToANormalForm(FunctionPass):
    """Binds every intermediate value with a `let`."""

    opt_level = 1
    required = ("InferType",)

    def rewrite(self, function: ir.Function) -> ir.Function:
        return ToANormalFormExpr(function)


def ToANormalFormExpr(expr: E) -> E:
    """`expr` in A-normal form; of a function, the function with its body in that form."""
    if normal_forms.check_a_normal_form(expr):
        return expr
    return tree.run(_Naming(expr).of(expr))  # type: ignore[no-any-return]


@dataclass
class _Later:
    """A late computation: a function that some blocks call.

    It is bound in the block `around` those. Where its definition is not available there yet, the
    function in the cell is set later.
    """

    around: Scope
    compute: ir.Function | None = None
    get: ir.Var = field(default_factory=lambda: ir.Var("later"))
    cell: ir.Var = field(default_factory=lambda: ir.Var("cell"))
    known: list[tuple[Scope, ir.Var]] = field(default_factory=list)  # blocks that have the value
    places: list[Scope] = field(default_factory=list)  # blocks that call

    def known_in(self, block: Scope) -> ir.Var | None:
        """The value in `block`, if an enclosing open block has it."""
        while self.known:
            scope, variable = self.known[-1]
            if block.ancestor_at(scope.depth) is scope:
                return variable
            self.known.pop()
        return None


class _Naming:
    """Names the values of an expression, in evaluation order.

    A block is open while its bindings are collected. The open blocks enclose the current one, so a
    binding that belongs to one of them is appended to its bindings.
    """

    def __init__(self, root: ir.Expr) -> None:
        self._demand = Demand(root)
        self._bindings: dict[Scope, list[Binding | _Later]] = {}
        self._names: dict[int, ir.Expr] = {}
        self._constants: dict[tuple[int, Scope], ir.Var] = {}
        self._late: dict[int, _Later] = {}
        self._clauses: dict[int, ir.Clause] = {}

    def of(self, root: ir.Expr) -> Naming:
        if normal_forms.makes_closure(root):
            made = yield self._operation(root.body, self._demand.opened(root, "body"))
            return tree.replace(root, body=made)
        if isinstance(root, ir.Function):
            return self._operation(root, self._demand.root)
        return self._block(root, self._demand.root)

    # --- blocks

    def _block(self, e: ir.Expr, block: Scope) -> Naming:
        """The block of `e` as a chain of bindings."""
        self._bindings[block] = []
        is_here = self._demand.home(e) is block and not ir.is_atom(e)
        result = yield self._evaluated(e, block) if is_here else self._atom(e, block)
        for variable, value in reversed(list(self._closed(block))):
            result = ir.Let(variable, value, result, span=value.span)
        return result

    def _closed(self, block: Scope) -> Iterator[Binding]:
        """The bindings of a block that is complete."""
        for binding in self._bindings.pop(block):
            if isinstance(binding, _Later):
                yield from self._made(binding)
            else:
                yield binding

    def _bind(self, variable: ir.Var, value: ir.Expr, block: Scope) -> ir.Var:
        self._bindings[block].append((variable, value))
        return variable

    # --- expressions

    def _atom(self, e: ir.Expr, block: Scope) -> Naming:
        """The atom for `e` where it is used in `block`."""
        if normal_forms.stays_in_place(e):
            return e
        if isinstance(e, ir.Constant):
            return self._constant(e, block)
        if self._demand.is_late(e):
            return self._needed(e, block)
        if id(e) not in self._names:
            self._names[id(e)] = yield self._evaluated(e, self._demand.home(e))
        return self._names[id(e)]

    def _constant(self, e: ir.Constant, block: Scope) -> ir.Var:
        """Constants are bound in every block that uses them, so that closures capture none."""
        key = (id(e), block)
        if key not in self._constants:
            self._constants[key] = self._bind(ir.Var("x"), e, block)
        return self._constants[key]

    def _evaluated(self, e: ir.Expr, block: Scope) -> Naming:
        """The name of the value of `e`, which belongs to `block`."""
        if isinstance(e, ir.Let):
            return self._lets(e, block)
        return self._bind(ir.Var("x"), (yield self._operation(e, block)), block)

    def _lets(self, e: ir.Expr, block: Scope) -> Naming:
        """The atom for the body of a chain of lets, after its bindings."""
        passed = []
        while isinstance(e, ir.Let) and self._demand.home(e) is block and id(e) not in self._names:
            passed.append(e)
            yield self._let(e, block)
            e = e.body
        result = yield self._atom(e, block)
        self._names.update((id(let), result) for let in passed)
        return result

    def _let(self, e: ir.Let, block: Scope) -> Naming:
        """`let %x = v`: %x becomes the name of v, unless it has one already."""
        variable, value = e.variable, e.value
        knots = self._demand.knots(variable)
        for knot in knots:
            later = self._late[id(knot)] = _Later(block)
            self._bindings[block].append(later)
        if self._is_named_by(e, block):
            operation = yield self._operation(value, block)
            self._names[id(value)] = self._bind(variable, operation, block)
        else:
            self._bind(variable, (yield self._atom(value, block)), block)
        for knot in knots:
            later = self._late[id(knot)]
            compute = self._bind(ir.Var("compute"), (yield self._function(knot)), block)
            self._bind(ir.Var("set"), ir.RefWrite(later.cell, compute), block)

    def _is_named_by(self, e: ir.Let, block: Scope) -> bool:
        """Whether the variable becomes the name of the value for all its uses.

        Not if it declares another type, except for functions, which may be recursive.
        """
        value, declared = e.value, e.variable.type_annotation
        if isinstance(value, ir.Let) or ir.is_atom(value) or id(value) in self._names:
            return isinstance(value, ir.Constant)
        fits = declared is None or declared == value.ty or not self._demand.is_shared(value)
        return self._demand.home(value) is block and (fits or isinstance(value, ir.Function))

    def _operation(self, e: ir.Expr, block: Scope) -> Naming:
        """`e` with its operands replaced by atoms."""
        parts: list[ir.Syntax] = []
        match e:
            case ir.Function() if e.attrs.get("Primitive"):
                return e
            case ir.Function(params=params, body=body):
                inside = self._demand.opened(e, "body")
                return tree.rebuild(e, [*params, (yield self._block(body, inside))])
            case ir.If():
                parts.append((yield self._atom(e.cond, block)))
                for name in ("true_branch", "false_branch"):
                    inside = self._demand.opened(e, name)
                    parts.append((yield self._block(getattr(e, name), inside)))
                return tree.rebuild(e, parts)
            case ir.Match():
                data = yield self._atom(e.data, block)
                clauses = yield tree.gather(self._clause(clause) for clause in e.clauses)
                return tree.rebuild(e, [data, *clauses])
        for part in tree.children(e):
            in_place = isinstance(e, ir.Call) and part is e.op and normal_forms.is_kernel(part)
            parts.append(part if in_place else (yield self._atom(part, block)))
        return tree.rebuild(e, parts)

    def _clause(self, clause: ir.Clause) -> Naming:
        if id(clause) not in self._clauses:
            body = yield self._block(clause.rhs, self._demand.opened(clause, "rhs"))
            self._clauses[id(clause)] = tree.replace(clause, rhs=body)
        return self._clauses[id(clause)]

    # --- late computations

    def _needed(self, e: ir.Expr, block: Scope) -> Naming:
        """The value of a late computation in a block that uses it."""
        later = self._late.get(id(e))
        if later is None:
            around = self._demand.home(e).parent
            assert around is not None
            later = self._late[id(e)] = _Later(around, (yield self._function(e)))
            self._bindings[around].append(later)
        if (known := later.known_in(block)) is not None:
            return known
        variable = self._bind(ir.Var("x"), ir.Call(later.get, ()), block)
        later.known.append((block, variable))
        later.places.append(block)
        return variable

    def _function(self, e: ir.Expr) -> Naming:
        return ir.Function((), (yield self._block(e, self._demand.home(e))), span=e.span)

    def _made(self, later: _Later) -> Iterator[Binding]:
        """The bindings of the function that computes the value."""
        if later.compute is not None and self._demand.is_once(later.places, later.around):
            yield later.get, later.compute
            return
        if later.compute is not None:
            compute = ir.Var("compute")
            yield compute, later.compute
        else:
            compute = ir.Var("never")  # replaced before it can be called
            yield compute, _calling(compute)
        yield later.cell, ir.RefCreate(compute)
        yield later.get, _remembering(later.cell)


def _calling(function: ir.Var) -> ir.Function:
    """`fn () { %function() }`"""
    result = ir.Var("x")
    return ir.Function((), ir.Let(result, ir.Call(function, ()), result))


def _remembering(cell: ir.Var) -> ir.Function:
    """A function that calls the one in the cell, and stores one there that returns the result."""
    compute, value, again, done = ir.Var("compute"), ir.Var("x"), ir.Var("again"), ir.Var("done")
    body: ir.Expr = ir.Let(done, ir.RefWrite(cell, again), value)
    body = ir.Let(again, ir.Function((), value), body)
    body = ir.Let(value, ir.Call(compute, ()), body)
    return ir.Function((), ir.Let(compute, ir.RefRead(cell), body))
