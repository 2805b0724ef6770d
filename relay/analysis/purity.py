"""Effect analysis: what evaluating an expression does besides giving a value.

    nothing    operators, data, functions as values, `ref(v)`: a new cell is not observable
    READS      `ref_read(r)`: it may be removed, but not moved
    ACTS       `ref_write(r, v)`, operators with effects, calls of unknown functions

Effects propagate along edges to the expressions that evaluate, call or contain their origin, until
a fixed point is reached; so recursion needs no assumptions, and the time is linear in the size of
the program. There are three facts for every expression: the effect of evaluating it, of calling its
value, and of calling a function inside its value (which a call returns, a tuple or a list holds).

Parameters that are functions, and functions read from references, are unknown. Failure and
divergence are no effects: removing an expression can only turn a failing program into one that does
not fail.

A shared expression is evaluated when it is first needed. If it reads, removing its first use lets
it read later, so a shared expression that reads counts as one that acts.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from inspect import isgeneratorfunction
from itertools import product

from relay import tree
from relay.errors import RelayError
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.ir.variables import binders
from relay.op.opdef import OpDef

# Operators that change tensors which lie in a storage (`relay.op.memory`).
WRITERS = frozenset({"vm.invoke_tvm_op", "memory.kill"})


class Effect(IntEnum):
    """The effect of an evaluation; a higher one includes the lower ones."""

    NONE = 0
    READS = 1
    ACTS = 2


# The facts about an expression: evaluating it, calling its value, calling what is inside.
EVALUATED, CALLED, INSIDE = range(3)
VALUE = (CALLED, INSIDE)
Fact = tuple[object, int]  # (what the expression is known by, which of the three)


class Purity:
    """The effects of all expressions of a module, or of one expression on its own.

    Without the module, global functions are not known.
    """

    def __init__(self, program: IRModule | ir.Expr) -> None:
        self._program = program  # expressions are known by identity, so they have to stay alive
        self._levels: dict[Fact, Effect] = {}
        self._flows: dict[Fact, list[Fact]] = {}
        self._uses: dict[object, int] = {}
        self._pending: list[tuple[Fact, Effect]] = []
        self._read(program)
        self._spread()

    def effect(self, e: ir.Expr) -> Effect:
        """The effect of evaluating `e`, a part of the program."""
        if not ir.is_atom(e) and id(e) not in self._uses:
            raise RelayError("effects are known of the parts of a program; this is none of it")
        return self._levels.get((_key(e), EVALUATED), Effect.NONE)

    def is_pure(self, e: ir.Expr) -> bool:
        """Whether evaluating `e` may be removed or moved."""
        return self.effect(e) is Effect.NONE

    # --- propagation

    def _spread(self) -> None:
        while self._pending:
            fact, level = self._pending.pop()
            if level is Effect.READS and fact[1] == EVALUATED and self._uses.get(fact[0], 0) > 1:
                level = Effect.ACTS
            if level > self._levels.get(fact, Effect.NONE):
                self._levels[fact] = level
                self._pending.extend((onward, level) for onward in self._flows.get(fact, ()))

    def _flow(
        self, sources: Iterable[ir.Syntax], facts: Iterable[int], to: ir.Syntax, fact: int
    ) -> None:
        """Effects of these facts of the sources propagate to that fact of `to`."""
        target = (_key(to), fact)
        for source, known in product(sources, facts):
            self._flows.setdefault((_key(source), known), []).append(target)

    def _flow_value(self, source: ir.Syntax, to: ir.Syntax) -> None:
        """The value of `to` is the value of `source`."""
        for fact in VALUE:
            self._flow((source,), (fact,), to, fact)

    def _unknown(self, e: ir.Syntax) -> None:
        """Calling the value of `e` may do anything, unless its type contains no functions."""
        if not isinstance(e, ir.Expr) or not _is_data(e):
            self._pending.extend(((_key(e), fact), Effect.ACTS) for fact in VALUE)

    # --- sources of effects, and edges

    def _read(self, program: IRModule | ir.Expr) -> None:
        roots = list(program.functions.values()) if isinstance(program, IRModule) else [program]
        bound: set[ir.Var] = set()
        free: set[ir.Var] = set()
        called: dict[str, ir.GlobalVar] = {}
        self._uses.update((id(root), 1) for root in roots)
        for node in (n for root in roots for n in tree.postorder(root)):
            bound.update(binders(node))
            if isinstance(node, ir.Var):
                free.add(node)
            elif isinstance(node, ir.GlobalVar):
                called[node.name_hint] = node
            elif isinstance(node, ir.Op | ir.Constructor):
                self._read_atom(node)
            elif isinstance(node, ir.Expr) and not ir.is_atom(node):
                self._read_computation(node)
            for child in tree.children(node):
                if not ir.is_atom(child):
                    self._uses[id(child)] = self._uses.get(id(child), 0) + 1
        for variable in free - bound:
            self._unknown(variable)
        for name, global_var in called.items():
            if isinstance(program, IRModule) and name in program:
                self._flow_value(program[name], global_var)
            else:
                self._unknown(global_var)

    def _read_computation(self, e: ir.Expr) -> None:
        evaluated: Iterable[ir.Syntax] = tree.children(e)
        match e:
            case ir.Function(params=params, body=body):
                evaluated = ()
                for param in params:
                    self._unknown(param)
                self._flow((body,), (EVALUATED,), e, CALLED)
                self._flow((body,), VALUE, e, INSIDE)
            case ir.Call():
                self._read_call(e)
            case ir.Let(variable=variable, value=value, body=body):
                self._flow_value(value, variable)
                self._flow_value(body, e)
            case ir.If(true_branch=true_branch, false_branch=false_branch):
                self._flow_value(true_branch, e)
                self._flow_value(false_branch, e)
            case ir.Match(data=data, clauses=clauses):
                evaluated = (data, *(clause.rhs for clause in clauses))
                for clause in clauses:
                    self._read_clause(clause, data, e)
            case ir.Tuple(fields=fields):
                self._flow(fields, VALUE, e, INSIDE)
            case ir.TupleGetItem(tuple_value=value):
                for fact in VALUE:
                    self._flow((value,), (INSIDE,), e, fact)
            case ir.RefCreate(value=value):
                self._flow((value,), VALUE, e, INSIDE)
            case ir.RefRead():
                self._pending.append(((_key(e), EVALUATED), Effect.READS))
                self._unknown(e)
            case ir.RefWrite():
                self._pending.append(((_key(e), EVALUATED), Effect.ACTS))
        self._flow(evaluated, (EVALUATED,), e, EVALUATED)

    def _read_clause(self, clause: ir.Clause, data: ir.Expr, e: ir.Match) -> None:
        self._flow_value(clause.rhs, e)
        for part in tree.postorder(clause.lhs):
            for variable in binders(part):
                for fact in VALUE:
                    self._flow((data,), (INSIDE,), variable, fact)

    def _read_call(self, e: ir.Call) -> None:
        match e.op:
            case OpDef(on_values=True) as op:
                if isgeneratorfunction(op.reference):  # it calls functions that it is given
                    self._flow(e.args, VALUE, e, EVALUATED)
                for fact in VALUE:  # it may give back what it is given
                    self._flow(e.args, VALUE, e, fact)
                if op.stateful:
                    self._pending.append(((_key(e), EVALUATED), Effect.ACTS))
            case OpDef(stateful=stateful):
                if stateful:
                    self._pending.append(((_key(e), EVALUATED), Effect.ACTS))
            case ir.Constructor():
                self._flow(e.args, VALUE, e, INSIDE)
            case ir.Op():
                self._pending.append(((_key(e), EVALUATED), Effect.ACTS))
            case callee:
                self._flow((callee,), (CALLED,), e, EVALUATED)
                for fact in VALUE:
                    self._flow((callee,), (INSIDE,), e, fact)

    def _read_atom(self, e: ir.Op | ir.Constructor) -> None:
        """An operator or a constructor, in case it is used as a value."""
        if isinstance(e, ir.Constructor):
            # its future fields are unknown
            self._pending.append(((_key(e), INSIDE), Effect.ACTS))
        elif not isinstance(e, OpDef) or e.stateful or e.on_values:
            self._pending.extend(((_key(e), fact), Effect.ACTS) for fact in VALUE)


def manages_memory(e: ir.Expr) -> bool:
    """Whether evaluating `e` writes to storage; then pure computations must not be moved either,
    since their arguments change."""
    return any(isinstance(n, ir.Op) and n.name in WRITERS for n in tree.postorder(e))


def _key(e: ir.Syntax) -> object:
    """The key of an expression: the name of a global function, otherwise the identity."""
    return e.name_hint if isinstance(e, ir.GlobalVar) else id(e)


def _is_data(e: ir.Expr) -> bool:
    """Whether the type of `e` contains no functions."""
    ty: Type | None = e.ty
    if ty is None and isinstance(e, ir.Var):
        ty = e.type_annotation
    return ty is not None and all(isinstance(t, TensorType | TupleType) for t in tree.postorder(ty))
