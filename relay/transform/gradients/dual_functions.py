"""Functions on duals: every function also records how its gradients go backwards.

    let %y = exp(%x);
    let %z = multiply(%y, %y);
      ->
    let %y = exp(%x.0);
    let %z = multiply(%y, %y);
    let %cell = ref(zeros_like(%z));
    let %before = ref_read(%tape);
    let %step = fn () {
      let %g = ref_read(%cell);
      let %total = add(ref_read(%x.1), …);       the rules of exp and multiply
      let %_ = ref_write(%x.1, %total);
      %before()
    };
    let %_ = ref_write(%tape, %step);

Operators that follow each other without a call or a branch between them are one step, which keeps
gradients of what is used inside of it only as expressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from relay import tree
from relay.analysis.normal_forms import is_kernel
from relay.errors import GradientError
from relay.ir import expr as ir
from relay.ir.types import UNIT, TensorType, TupleType, Type
from relay.ir.variables import binders
from relay.op.gradient_rules import build
from relay.op.opdef import OpDef
from relay.transform.gradients.accumulate import Accumulation, is_differentiable, may_carry
from relay.transform.gradients.dual_types import STEP, TAPE, TypeTwins
from relay.transform.gradients.dual_values import (
    Dual,
    Leaf,
    Opaque,
    Parts,
    expanded,
    expression,
    leaves,
    value_of,
)
from relay.tree import Steps

Binding = tuple[ir.Var, ir.Expr]


class Translator:
    """Translates functions in A-normal form; global ones have the given names on duals."""

    def __init__(self, types: TypeTwins, names: Mapping[str, str]) -> None:
        self.types = types
        self._names = names

    def of_module(self, function: ir.Function) -> ir.Function:
        """A global function on duals."""
        return tree.run(_Translation(self, function).function(function))

    def callee(self, name: str, span: Any) -> ir.GlobalVar:
        """The global function on duals."""
        if name not in self._names:
            raise GradientError.of(
                f"`@{name}` has no gradient",
                span,
                "a function of Relay",
                "one that is compiled by another compiler, or as a whole",
                "differentiate before such functions are made",
            )
        return ir.GlobalVar(self._names[name])

    def body(self, function: ir.Function, given: Mapping[ir.Var, Dual], tape: ir.Var) -> ir.Expr:
        """The body of a function on duals, for duals of its parameters."""
        translation = _Translation(self, function)
        translation.known.update(given)
        return tree.run(translation.block(function.body, tape))


class _Translation:
    """Translates one global function with its inner functions."""

    def __init__(self, functions: Translator, root: ir.Function) -> None:
        self._functions = functions
        self._types = functions.types
        self.known: dict[ir.Var, Dual] = {}
        self._uses = _uses(root)
        self._constants: set[ir.Var] = set()  # variables of patterns, of constant data

    # --- atoms

    def _dual(self, atom: ir.Expr) -> Dual:
        if isinstance(atom, ir.GlobalVar):
            return Opaque(self._functions.callee(atom.name_hint, atom.span))
        assert isinstance(atom, ir.Var)
        return self.known[atom]

    def _expression(self, atom: ir.Expr) -> ir.Expr:
        return tree.run(expression(self._dual(atom)))

    def _variable(self, before: ir.Var) -> ir.Var:
        """A variable for the dual of another one."""
        ty = before.type_annotation or before.checked_type
        if before in self._constants:
            assert isinstance(ty, TensorType)
            constant = ir.Var(before.name_hint, ty, span=before.span)
            self.known[before] = Leaf(ty, constant, varies=False)
            return constant
        after = ir.Var(before.name_hint, self._types.of(ty), span=before.span)
        self.known[before] = tree.run(expanded(after, ty))
        return after

    # --- functions and blocks

    def function(self, before: ir.Function) -> Steps[ir.Function]:
        """A function on duals, which takes the tape first."""
        if before.attrs.get("Primitive"):
            raise _fused(before)
        tape = ir.Var("tape", TAPE)
        params = tuple(map(self._variable, before.params))
        body = yield self.block(before.body, tape)
        result = before.ret_type or before.body.checked_type
        return ir.Function(
            (tape, *params),
            body,
            self._types.of(result),
            before.type_params,
            before.attrs,
            span=before.span,
        )

    def block(
        self,
        e: ir.Expr,
        tape: ir.Var,
        constants: Sequence[ir.Var] = (),
        results: list[Dual] | None = None,
    ) -> Steps[ir.Expr]:
        """A chain of lets on duals, behind a pattern with some constants."""
        made: list[Binding] = []
        step = _Step(self, made)
        for constant in constants:
            step.knows(constant)
        while isinstance(e, ir.Let):
            if not step.takes(e.variable, e.value):
                step.close(tape)
                step = _Step(self, made)
                yield self._bind(e.variable, e.value, made, tape)
            e = e.body
        step.close(tape)
        if isinstance(e, ir.Function):  # the one that a function marked `Closure` makes
            result: ir.Expr = yield self.function(e)
        else:
            result = self._expression(e)
            if results is not None:
                results.append(self._dual(e))
        for variable, value in reversed(made):
            result = ir.Let(variable, value, result, span=value.span)
        return result

    def _bind(
        self, variable: ir.Var, value: ir.Expr, made: list[Binding], tape: ir.Var
    ) -> Steps[None]:
        """A binding of something other than an operator."""
        if isinstance(value, ir.Function):
            after = self._variable(variable)  # which may occur in its own body
            made.append((after, (yield self.function(value))))
            return
        results: list[Dual] = []
        translated = yield self._value(value, tape, results)
        made.append((self._variable(variable), translated))
        # what no branch gives a gradient to, has none
        for same in zip(leaves(self.known[variable]), *map(leaves, results), strict=bool(results)):
            same[0].varies = not results or any(leaf.varies for leaf in same[1:])

    def _value(self, e: ir.Expr, tape: ir.Var, results: list[Dual]) -> Steps[ir.Expr]:
        """A value on duals; those that branches give are added to `results`."""
        match e:
            case ir.Call(op=ir.Constructor() as constructor):
                return tree.replace(
                    e,
                    op=self._types.constructor(constructor),
                    args=tuple(map(self._expression, e.args)),
                    type_args=tuple(map(self._types.of_argument, e.type_args)),
                )
            case ir.Call():
                if isinstance(e.op, OpDef) or is_kernel(e.op):
                    raise _fused(e)
                return tree.replace(
                    e,
                    op=self._expression(e.op),
                    args=(tape, *map(self._expression, e.args)),
                    type_args=tuple(map(self._types.of_argument, e.type_args)),
                )
            case ir.If():
                true_branch = yield self.block(e.true_branch, tape, results=results)
                false_branch = yield self.block(e.false_branch, tape, results=results)
                return ir.If(self._expression(e.cond), true_branch, false_branch, span=e.span)
            case ir.Match():
                clauses = []
                for clause in e.clauses:
                    constants = [*self._types.constants(clause.lhs)]
                    self._constants.update(constants)
                    pattern = tree.transform(clause.lhs, self._pattern)
                    body = yield self.block(clause.rhs, tape, constants, results)
                    clauses.append(ir.Clause(pattern, body, span=clause.span))
                data = self._expression(e.data)
                return ir.Match(data, tuple(clauses), e.complete, span=e.span)
            case ir.RefCreate(value=value):
                return ir.RefCreate(self._expression(value), span=e.span)
            case ir.RefRead(ref=ref):
                return ir.RefRead(self._expression(ref), span=e.span)
            case ir.RefWrite(ref=ref, value=value):
                return ir.RefWrite(self._expression(ref), self._expression(value), span=e.span)
        return self._expression(e)

    def _pattern(self, before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
        if isinstance(before, ir.Var):
            return self._variable(before)
        if isinstance(after, ir.Constructor):
            return self._types.constructor(after)
        return after


class _Step:
    """Consecutive operators, and the function of their backward pass."""

    def __init__(self, translation: _Translation, made: list[Binding]) -> None:
        self._outer = translation
        self._made = made
        self._bound: list[Binding] = []  # as in the program
        self._calls: list[tuple[ir.Var, ir.Call]] = []  # with values as arguments
        self._parts: dict[ir.Var, list[ir.Var]] = {}  # of results that are tuples
        self._own: dict[ir.Expr, Leaf] = {}
        self._inputs: dict[ir.Expr, Leaf] = {}
        self._types: dict[ir.Expr, Type] = {}
        self._active: set[ir.Expr] = set()

    def knows(self, constant: ir.Var) -> None:
        """Begin with a constant, which gets a cell if it is used outside."""
        leaf = self._outer.known[constant]
        assert isinstance(leaf, Leaf)
        self._own[leaf.value] = leaf
        self._types[leaf.value] = leaf.ty
        self._bound.append((constant, ir.Tuple(())))

    def takes(self, variable: ir.Var, value: ir.Expr) -> bool:
        """Whether the binding is part of the step; it is added then."""
        known = self._outer.known
        match value:
            case ir.Constant():
                known[variable] = self._tensor(variable, value, value.tensor_type)
            case ir.Var() | ir.GlobalVar():
                known[variable] = self._outer._dual(value)
            case ir.Tuple(fields=fields):
                known[variable] = Parts([self._outer._dual(field) for field in fields])
            case ir.TupleGetItem(tuple_value=ir.Var() as whole, index=index):
                parts = known[whole]
                assert isinstance(parts, Parts)
                known[variable] = parts.fields[index]
            case ir.Call(op=OpDef() as op) if op.is_repeatable or _has_rule(op):
                known[variable] = self._call(variable, value)
            case _:
                return False
        self._bound.append((variable, value))
        return True

    def _bind(self, name: str, value: ir.Expr, ty: Type) -> ir.Var:
        variable = ir.Var(name, ty)
        self._made.append((variable, value))
        self._types[variable] = ty
        return variable

    def _tensor(self, variable: ir.Var, value: ir.Expr, ty: TensorType) -> Leaf:
        made = Leaf(ty, self._bind(variable.name_hint, value, ty))
        self._own[made.value] = made
        return made

    def _call(self, variable: ir.Var, call: ir.Call) -> Dual:
        given = [self._outer._dual(argument) for argument in call.args]
        args = tuple(tree.run(value_of(dual)) for dual in given)
        ty = call.checked_type
        made = tree.replace(call, args=args)
        self._types[made] = ty
        is_active = False
        for dual, argument, before in zip(given, args, call.args, strict=True):
            inside = [self._input(leaf) for leaf in leaves(dual)]
            self._types[argument] = before.checked_type
            if any(inside):
                self._active.add(argument)
                is_active = True
        result = self._bind(variable.name_hint, made, ty)
        self._calls.append((result, made))
        if is_active and may_carry(ty):
            self._active.add(result)
        if isinstance(ty, TensorType):
            self._own[result] = leaf = Leaf(ty, result)
            return leaf
        assert isinstance(ty, TupleType)
        fields: list[Dual] = []
        for index, field in enumerate(ty.fields):
            assert isinstance(field, TensorType), "operators give tensors and tuples of them"
            leaf = self._tensor(variable, ir.TupleGetItem(result, index), field)
            if is_active and is_differentiable(field):
                self._active.add(leaf.value)
            fields.append(leaf)
        self._parts[result] = [leaf.value for leaf in leaves(Parts(fields))]  # type: ignore[misc]
        return Parts(fields)

    def _input(self, leaf: Leaf) -> bool:
        """Note a tensor that is used; whether it is one with a gradient."""
        self._types[leaf.value] = leaf.ty
        if leaf.value in self._own:
            return leaf.value in self._active
        if leaf.cell is None or not leaf.varies:
            return False
        self._inputs[leaf.value] = leaf
        self._active.add(leaf.value)
        return True

    # --- the end of the step

    def close(self, tape: ir.Var) -> None:
        """Make cells for tensors that are used outside; record the backward pass on the tape."""
        inside = Counter(
            child
            for _, value in self._bound
            for child in tree.children(value)
            if isinstance(child, ir.Var)
        )
        outputs: dict[ir.Expr, Leaf] = {}
        for variable, _ in self._bound:
            if self._outer._uses[variable] > inside[variable]:
                for leaf in leaves(self._outer.known[variable]):
                    if leaf.value in self._own:
                        leaf.varies = leaf.value in self._active
                    if leaf.value in self._own and leaf.dual is None:
                        self._give_cell(leaf)
                    if leaf.value in self._own and leaf.value in self._active:
                        outputs[leaf.value] = leaf
        if outputs:
            self._record(list(outputs.values()), tape)

    def _give_cell(self, leaf: Leaf) -> None:
        if not is_differentiable(leaf.ty):
            leaf.dual = leaf.value
            return
        types = self._outer._types
        pair = types.of(leaf.ty)
        assert isinstance(pair, TupleType)
        zeros = build("zeros_like", leaf.value)
        leaf.cell = self._bind("cell", ir.RefCreate(zeros), pair.fields[1])
        leaf.dual = self._bind("dual", ir.Tuple((leaf.value, leaf.cell)), pair)

    def _record(self, outputs: list[Leaf], tape: ir.Var) -> None:
        inside: list[Binding] = []

        def bind(name: str, value: ir.Expr) -> ir.Var:
            inside.append((ir.Var(name), value))
            return inside[-1][0]

        gradients = Accumulation(self._types.__getitem__, self._active.__contains__)
        for leaf in outputs:
            assert leaf.cell is not None
            gradients.add(leaf.value, bind("gradient", ir.RefRead(leaf.cell)))
        self._go_back(gradients)
        touched = False
        for leaf in self._inputs.values():
            gradient = gradients.take(leaf.value)
            if gradient is not None:
                assert isinstance(gradient, ir.Expr)
                assert leaf.cell is not None
                touched = True
                gradient = bind("gradient", gradient)
                total = bind("total", build("add", bind("known", ir.RefRead(leaf.cell)), gradient))
                bind("set", ir.RefWrite(leaf.cell, total))
        if not touched:
            return
        before = self._bind("before", ir.RefRead(tape), STEP)
        body: ir.Expr = ir.Call(before, ())
        for variable, value in reversed(inside):
            body = ir.Let(variable, value, body)
        step = self._bind("step", ir.Function((), body, UNIT), STEP)
        self._bind("set", ir.RefWrite(tape, step), UNIT)

    def _go_back(self, gradients: Accumulation) -> None:
        for result, call in reversed(self._calls):
            for index, part in enumerate(self._parts.get(result, ())):
                if (gradient := gradients.take(part)) is not None:
                    gradients.add(result, {index: gradient})
            if (gradient := gradients.take(result)) is None:
                continue
            gradients.through(call, gradient, result)
            for argument in call.args:
                if isinstance(argument, ir.Tuple):
                    parts = gradients.take(argument)
                    if parts is not None:
                        gradients.through(argument, parts, argument)


def _has_rule(op: OpDef) -> bool:
    return op.gradient is not None and not isinstance(op.gradient, str)


def _uses(root: ir.Function) -> Counter[ir.Var]:
    """How often each variable is used."""
    found: Counter[ir.Var] = Counter()
    for node in tree.postorder(root):
        found.update(child for child in tree.children(node) if isinstance(child, ir.Var))
        found.subtract(binders(node))
    return found


def _fused(e: ir.Expr) -> GradientError:
    what = "operator with effects" if isinstance(e, ir.Call) and isinstance(e.op, OpDef) else ""
    return GradientError.of(
        f"this {what or 'kernel'} cannot be differentiated",
        e.span,
        "operators with a rule (`gradient=` in their record)",
        what or "a function marked `Primitive`",
        None if what else "differentiate before FuseOps",
    )
