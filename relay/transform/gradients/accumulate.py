"""Gradients of values, collected from their uses and passed on to what they were computed from.

All uses of a value come before the value itself: `add` collects their gradients, `take` gives the
sum, and `through` passes it on to the parts of the value, by the rule of its operator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from relay import dtypes, tree
from relay.check.infer import infer_expr
from relay.errors import GradientError
from relay.ir import expr as ir
from relay.ir.types import TensorType, TupleType, Type
from relay.op.gradient_rules import ArgumentGradient, Backward, Composed, build
from relay.op.opdef import OpDef
from relay.tree import Steps

# The gradient of a tensor, or those of the fields of a tuple; what is missing is zero.
Gradient: TypeAlias = "ir.Expr | dict[int, Gradient]"


def is_differentiable(ty: Type) -> bool:
    """Whether `ty` is a tensor of floating-point numbers."""
    return isinstance(ty, TensorType) and dtypes.is_float(ty.dtype)


def may_carry(ty: Type) -> bool:
    """Whether values of the type may have gradients: tuples and tensors of numbers."""
    return isinstance(ty, TupleType) or is_differentiable(ty)


class Accumulation:
    """The gradients that are known so far, by the expressions they are of."""

    def __init__(
        self, type_of: Callable[[ir.Expr], Type], is_active: Callable[[ir.Expr], bool]
    ) -> None:
        self._type_of = type_of
        self._is_active = is_active
        self._found: dict[ir.Expr, Gradient] = {}

    def add(self, value: ir.Expr, gradient: Gradient) -> None:
        """Collect a gradient of `value`, unless it depends on nothing of interest."""
        if not self._is_active(value):
            return
        before = self._found.get(value)
        self._found[value] = gradient if before is None else _sum(before, gradient)

    def take(self, value: ir.Expr) -> Gradient | None:
        """The sum of the gradients of `value`, which is complete."""
        return self._found.pop(value, None)

    def through(self, value: ir.Expr, gradient: Gradient, output: ir.Expr) -> None:
        """Pass the gradient of `value` on to its parts. `output` is what its result is bound to."""
        match value:
            case ir.Call():
                self._through_operator(value, gradient, output)
            case ir.Tuple(fields=fields):
                assert isinstance(gradient, dict)
                for index, part in gradient.items():
                    self.add(fields[index], part)
            case ir.TupleGetItem(tuple_value=whole, index=index):
                self.add(whole, {index: gradient})

    def _through_operator(self, call: ir.Call, gradient: Gradient, output: ir.Expr) -> None:
        op = call.op
        assert isinstance(op, OpDef)
        ty = self._type_of(call)
        if isinstance(gradient, dict):
            assert isinstance(ty, TupleType)
            places = range(len(ty.fields))
            gradients = tuple(_tensor(gradient[i]) if i in gradient else None for i in places)
        else:
            gradients = (gradient,)
        if not any(one is not None for one in gradients):
            return
        rule = op.gradient
        if rule is None or isinstance(rule, str):
            raise GradientError.of(
                f"`{op.name}` has no gradient: {rule or 'its record has no rule'}",
                call.span,
                "operators with a rule (`gradient=` in their record)",
                f"`{op.name}`",
                "relay.stop_gradient(…) around an argument makes it a constant",
            )
        site = Backward(call, output, gradients, self._type_of)
        if isinstance(rule, Composed):
            self._through_composition(site, gradient, rule)
            return
        for argument, found in zip(call.args, rule(site), strict=False):
            self._add_argument(argument, found)

    def _through_composition(self, site: Backward, gradient: Gradient, rule: Composed) -> None:
        """Differentiate the composition that defines the operator, over variables."""
        types = [self._type_of(argument) for argument in site.args]
        params = tuple(ir.Var(f"x{i}", ty) for i, ty in enumerate(types))
        inner = tree.replace(site.call, args=params)
        known: dict[ir.Expr, Type] = {inner: self._type_of(site.call)}
        known.update(zip(params, types, strict=True))
        result = rule.result(Backward(inner, inner, site.gradients, known.__getitem__))
        function = infer_expr(ir.Function(params, result))
        wanted = [
            param
            for param, argument in zip(function.params, site.args, strict=True)
            if self._is_active(argument)
        ]
        inside = backwards(function.body, gradient, wanted)
        given = dict(zip(function.params, site.args, strict=True))
        seeds: dict[ir.Syntax, ir.Syntax] = {param: given[param] for param in given}
        for param in wanted:
            found = inside.take(param)
            if found is not None:
                self.add(given[param], _replaced(found, seeds))

    def _add_argument(self, argument: ir.Expr, found: ArgumentGradient) -> None:
        if isinstance(found, ir.Expr):
            self.add(argument, found)
        elif found is not None:
            parts: dict[int, Gradient] = {i: g for i, g in enumerate(found) if g is not None}
            self.add(argument, parts)


def depending_on(body: ir.Expr, wanted: Collection[ir.Var]) -> set[int]:
    """The typed expressions of dataflow code with gradients that depend on some variables."""
    variables = set(wanted)
    found: set[int] = set()
    for value in tree.postorder(body):
        if not isinstance(value, ir.Expr) or value.ty is None or not may_carry(value.ty):
            continue
        if value in variables or any(id(part) in found for part in tree.children(value)):
            found.add(id(value))
    return found


def backwards(body: ir.Expr, gradient: Gradient, wanted: Collection[ir.Var]) -> Accumulation:
    """The gradients of the variables `wanted` from that of typed dataflow code."""
    active = depending_on(body, wanted)
    gradients = Accumulation(lambda e: e.checked_type, lambda e: id(e) in active)
    gradients.add(body, gradient)
    for value in reversed(list(tree.postorder(body))):
        if isinstance(value, ir.Expr) and not isinstance(value, ir.Var):
            found = gradients.take(value)
            if found is not None:
                gradients.through(value, found, value)
    return gradients


def _replaced(gradient: Gradient, seeds: Mapping[ir.Syntax, ir.Syntax]) -> Gradient:
    """The gradient with variables replaced."""
    tensors = [gradient] if isinstance(gradient, ir.Expr) else list(gradient.values())
    # as one expression, since they share parts
    whole = ir.Tuple(tuple(one for one in tensors if isinstance(one, ir.Expr)))
    made = tree.transform(whole, lambda _, after: after, seeds)
    if isinstance(gradient, ir.Expr):
        return made.fields[0]
    return dict(zip(gradient, made.fields, strict=True))


def _tensor(gradient: Gradient) -> ir.Expr:
    assert isinstance(gradient, ir.Expr)
    return gradient


def _sum(before: Gradient, more: Gradient) -> Gradient:
    """The sum; that of tuples is collected in `before`."""
    pending: list[tuple[Gradient, Gradient]] = [(before, more)]
    if isinstance(before, ir.Expr):
        assert isinstance(more, ir.Expr)
        return build("add", before, more)
    while pending:
        one, other = pending.pop()
        assert isinstance(one, dict)
        assert isinstance(other, dict)
        for index, part in other.items():
            known = one.get(index)
            if known is None:
                one[index] = part
            elif isinstance(known, dict):
                pending.append((known, part))
            else:
                one[index] = build("add", known, part)
    return before


def whole(gradient: Gradient | None, value: ir.Expr, ty: Type) -> Steps[ir.Expr]:
    """The gradient of `value` as an expression, with zeros for what has none."""
    if isinstance(ty, TupleType):
        assert gradient is None or isinstance(gradient, dict)
        fields: list[ir.Expr] = []
        for index, field in enumerate(ty.fields):
            part = None if gradient is None else gradient.get(index)
            fields.append((yield whole(part, ir.TupleGetItem(value, index), field)))
        return ir.Tuple(tuple(fields))
    return build("zeros_like", value) if gradient is None else _tensor(gradient)


def ones(value: ir.Expr, ty: Type) -> Steps[Gradient | None]:
    """The gradient of the sum of all elements of a value with respect to the value."""
    if isinstance(ty, TupleType):
        found: dict[int, Gradient] = {}
        for index, field in enumerate(ty.fields):
            part = yield ones(ir.TupleGetItem(value, index), field)
            if part is not None:
                found[index] = part
        return found or None
    return build("ones_like", value) if is_differentiable(ty) else None
