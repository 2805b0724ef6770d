"""Functions with a gradient of their own: another function computes it.

    def @f(%x: A, %n: int32, Gradient="f_back") -> B { … }
    def @f_back(%x: A, %n: int32, %result: B, %gradient: B) -> (A,) { … }
      ->
    def @f_dual(%tape, %x: dual of A, %n: int32) -> dual of B {
      let %result = @f(%x.0, %n);
      let %dual = (%result, ref(zeros_like(%result)));
      … add to the tape: @f_back(%x.0, %n, %result, ref_read(%dual.1)).0 is added to the cell %x.1
      %dual
    }

The rule takes the parameters of the function, its result and the gradient of that. It returns a
tuple of the gradients of the parameters with floating-point numbers, or the only one by itself.
Parameters and results are tensors and tuples of them. The body of the function is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from relay import tree
from relay.errors import GradientError
from relay.ir import expr as ir
from relay.ir.function_attrs import GRADIENT
from relay.ir.module import IRModule
from relay.ir.types import UNIT, FuncType, TensorType, TupleType, Type
from relay.op.gradient_rules import build
from relay.transform.gradients.accumulate import is_differentiable
from relay.transform.gradients.dual_types import STEP, TAPE, TypeTwins
from relay.transform.gradients.dual_values import Dual, Leaf, Parts, expanded, value_of
from relay.tree import Steps


def rule_of(name: str, module: IRModule) -> str | None:
    """The name of the function with the gradients of a global function, if it has one, checked."""
    function = module[name]
    rule = function.attrs.get(GRADIENT)
    if rule is None:
        return None
    if not isinstance(rule, str) or ir.GlobalVar(rule) not in module:
        raise GradientError.of(
            f"the gradient of `@{name}` is no function of the module",
            function.span,
            f'{GRADIENT}="the name of a function"',
            repr(rule),
        )
    types = [param.checked_type for param in function.params]
    result = function.ret_type or function.body.checked_type
    if function.type_params or not all(_is_plain(ty) for ty in (*types, result)):
        raise GradientError.of(
            f"`@{name}` cannot have a gradient of its own",
            function.span,
            "parameters and a result of tensors, and tuples of them",
            str(FuncType(tuple(types), result, function.type_params)),
        )
    slopes = tuple(types[place] for place in _wanted(types))
    args = (*types, result, result)
    found = module[rule].checked_type
    allowed = [FuncType(args, TupleType(slopes))]
    if len(slopes) == 1:
        allowed.append(FuncType(args, slopes[0]))
    if found not in allowed:
        raise GradientError.of(
            f"`@{rule}` does not compute the gradients of `@{name}`",
            module[rule].span,
            str(allowed[-1]),
            str(found),
            "it takes the parameters, the result and its gradient, and returns the gradients",
        )
    return rule


def dual_of(name: str, rule: str, module: IRModule, types: TypeTwins) -> ir.Function:
    """The function on duals of a global function with a rule."""
    return _Dual(name, rule, module, types).function()


def _is_plain(ty: Type) -> bool:
    """Whether a type is that of a tensor, or of tuples of them."""
    return all(isinstance(part, TensorType | TupleType) for part in _parts(ty))


def _parts(ty: Type) -> list[Type]:
    found, pending = [], [ty]
    while pending:
        found.append(pending.pop())
        if isinstance(found[-1], TupleType):
            pending += found[-1].fields
    return found


def _wanted(types: Sequence[Type]) -> list[int]:
    """The places of the parameters that have gradients."""
    return [n for n, ty in enumerate(types) if any(map(is_differentiable, _parts(ty)))]


class _Dual:
    """Makes the function on duals."""

    def __init__(self, name: str, rule: str, module: IRModule, types: TypeTwins) -> None:
        self._name, self._rule, self._types = name, rule, types
        self._original = module[name]
        self._found = module[rule].checked_type.ret_type
        self._bindings: list[tuple[ir.Var, ir.Expr]] = []

    def _bind(self, name: str, value: ir.Expr, ty: Type | None = None) -> ir.Var:
        self._bindings.append((ir.Var(name, ty), value))
        return self._bindings[-1][0]

    def function(self) -> ir.Function:
        original, of = self._original, self._types.of
        before = [param.checked_type for param in original.params]
        result_type = original.ret_type or original.body.checked_type
        tape = ir.Var("tape", TAPE)
        params = [
            ir.Var(param.name_hint, of(ty), span=param.span)
            for param, ty in zip(original.params, before, strict=True)
        ]
        duals = [tree.run(expanded(p, ty)) for p, ty in zip(params, before, strict=True)]
        values = tuple(tree.run(value_of(dual)) for dual in duals)
        result = self._bind("result", ir.Call(ir.GlobalVar(self._name), values), result_type)
        lifted = tree.run(_through(_with_cell, result, result_type))
        dual = self._bind("dual", lifted, of(result_type))
        slope = tree.run(_through(_gradient, dual, result_type))
        earlier = self._bind("before", ir.RefRead(tape), STEP)
        found = ir.Var("slopes", self._found)
        wanted = _wanted(before)
        alone = len(wanted) == 1 and self._found == before[wanted[0]]
        step: ir.Expr = ir.Call(earlier, ())
        for number, place in reversed([*enumerate(wanted)]):
            given = found if alone else ir.TupleGetItem(found, number)
            for cell, part in _cells(duals[place], given):
                total = build("add", ir.RefRead(cell), part)
                step = ir.Let(ir.Var("set", UNIT), ir.RefWrite(cell, total), step)
        call = ir.Call(ir.GlobalVar(self._rule), (*values, result, slope))
        backwards = ir.Function((), ir.Let(found, call, step), UNIT)
        self._bind("set", ir.RefWrite(tape, self._bind("step", backwards, STEP)), UNIT)
        made: ir.Expr = dual
        for variable, value in reversed(self._bindings):
            made = ir.Let(variable, value, made, span=original.span)
        attrs = original.attrs.without(GRADIENT)
        return ir.Function((tape, *params), made, of(result_type), (), attrs, span=original.span)


def _through(change: Callable[[ir.Expr], ir.Expr], value: ir.Expr, ty: Type) -> Steps[ir.Expr]:
    """A value whose tensors are changed."""
    if isinstance(ty, TupleType):
        fields: list[ir.Expr] = []
        for index, field in enumerate(ty.fields):
            fields.append((yield _through(change, ir.TupleGetItem(value, index), field)))
        return ir.Tuple(tuple(fields))
    return change(value) if is_differentiable(ty) else value


def _with_cell(value: ir.Expr) -> ir.Expr:
    return ir.Tuple((value, ir.RefCreate(build("zeros_like", value))))


def _gradient(dual: ir.Expr) -> ir.Expr:
    return ir.RefRead(ir.TupleGetItem(dual, 1))


def _cells(dual: Dual, slope: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The cells in a dual, and the gradient for each."""
    pending: list[tuple[Dual, ir.Expr]] = [(dual, slope)]
    while pending:
        one, part = pending.pop()
        if isinstance(one, Parts):
            fields = enumerate(one.fields)
            pending += [(field, ir.TupleGetItem(part, index)) for index, field in fields]
        elif isinstance(one, Leaf) and one.cell is not None:
            yield one.cell, part
