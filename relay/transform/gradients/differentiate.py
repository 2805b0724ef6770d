"""`gradient(f, mod)`: reverse-mode differentiation of the whole language.

    gradient(fn (%x: float32, %y: float32) { multiply(%x, %y) })
      ->
    fn (%x: float32, %y: float32) -> (float32, (float32, float32)) { … }

The result of the function is (value, (gradient of each parameter, …)), where gradients are those of
the sum of all elements of the value, in the types of the parameters. It is a program like any
other: it can be differentiated again.

In the mode "higher_order" functions are translated to functions on duals (`dual_functions.py`):
branches, matches, calls, recursion, closures, data types and references may be used. In the mode
"first_order" dataflow code becomes dataflow code (`first_order_gradient.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import tree
from relay.check.infer import infer_expr, infer_module
from relay.errors import GradientError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import GRADIENT, is_sealed
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import UNIT, GlobalTypeVar, Type
from relay.transform.functional.eta_expand import EtaExpand
from relay.transform.functional.to_a_normal_form import ToANormalForm
from relay.transform.gradients.custom_rules import dual_of, rule_of
from relay.transform.gradients.dual_data import Conversions, Way
from relay.transform.gradients.dual_functions import Translator
from relay.transform.gradients.dual_types import STEP, TAPE, TypeTwins
from relay.transform.gradients.dual_values import Dual, expanded, leaves
from relay.transform.gradients.first_order_gradient import first_order

__all__ = ["gradient"]

MODES = ("higher_order", "first_order")

# Wraps operators, constructors and global functions that are used as values.
_FUNCTIONS_ONLY = EtaExpand(expand_constructor=True, expand_global_var=True, expand_operator=True)


def gradient(
    expr: ir.Expr,
    mod: IRModule | None = None,
    mode: str = "higher_order",
    wrt: Sequence[int] | None = None,
) -> ir.Function:
    """A function that returns the value of the function `expr`, and its gradients.

    `wrt` are the places of the parameters that gradients are wanted of; without it these are all,
    and those of integers are zeros. What the result calls is added to `mod`.
    """
    if mode not in MODES:
        raise GradientError.of("there is no such mode", None, " or ".join(MODES), repr(mode))
    module = IRModule() if mod is None else mod
    function = module[expr] if isinstance(expr, ir.GlobalVar) else expr
    if isinstance(function, ir.Function) and GRADIENT in function.attrs:
        function = _called(infer_expr(function, module), module)
    if not isinstance(function, ir.Function):
        raise GradientError.of(
            "this is no function", expr.span, "a relay.Function", type(function).__name__
        )
    typed = infer_expr(function, module)
    wanted = _wanted(typed, module, wrt)
    if mode == "first_order":
        return infer_expr(first_order(typed, wanted), module)
    return _higher_order(typed, module, wanted)


def _called(function: ir.Function, module: IRModule) -> ir.Function:
    """A function that calls one with a gradient of its own, which gets a name."""
    name = UniqueNames({one.name_hint for one in module.functions}).fresh("differentiated")
    module[name] = function
    params = tuple(tree.replace(param) for param in function.params)
    return ir.Function(params, ir.Call(ir.GlobalVar(name), params), function.ret_type)


def _wanted(function: ir.Function, module: IRModule, wrt: Sequence[int] | None) -> Sequence[int]:
    count = len(function.params)
    if wrt is None:
        return range(count)
    for place in wrt:
        if not 0 <= place < count:
            raise GradientError.of(
                "there is no such parameter", function.span, f"0 to {count - 1}", str(place)
            )
        param = function.params[place]
        if not has_gradients(param.checked_type, module):
            raise GradientError.of(
                f"parameter `{param.name_hint}` has no gradient",
                param.span or function.span,
                "floating-point numbers, or a tuple or data type of them",
                str(param.checked_type),
            )
    return list(wrt)


def has_gradients(ty: Type, module: IRModule) -> bool:
    """Whether there are floating-point numbers in values of a type."""
    return TypeTwins(module).of(ty) != ty


@frozen
class _Work:
    """A module in A-normal form, and the name of the function to differentiate."""

    module: IRModule
    name: str
    wanted: Sequence[str]
    rules: Mapping[str, str]  # functions with a gradient of their own, and what computes it


def _prepared(function: ir.Function, module: IRModule) -> _Work:
    own = UniqueNames({name.name_hint for name in module.functions}).fresh("function")
    work = module.copy()
    work[own] = function
    work = ToANormalForm()(_FUNCTIONS_ONLY(work))
    found = {own: None}
    rules: dict[str, str] = {}
    pending = [own]
    while pending:
        for node in tree.postorder(work[pending.pop()]):
            if not isinstance(node, ir.GlobalVar) or node.name_hint in found:
                continue
            name = node.name_hint
            found[name] = None
            if (rule := rule_of(name, work)) is None:
                pending.append(name)
            else:
                rules[name] = rule
    wanted = [n for n in found if n != own and (n in rules or not is_sealed(work[n]))]
    return _Work(work, own, wanted, rules)


def _higher_order(function: ir.Function, module: IRModule, wanted: Sequence[int]) -> ir.Function:
    work = _prepared(function, module)
    names = UniqueNames({name.name_hint for name in work.module.functions})
    types = TypeTwins(work.module, _read_only(work, wanted))
    twins = {name: names.fresh(f"{name}_dual") for name in work.wanted}
    functions = Translator(types, twins)
    data = Conversions(work.module, types, names)
    made: dict[str, ir.Function] = {}
    for name in work.wanted:
        rule = work.rules.get(name)
        made[twins[name]] = (
            functions.of_module(work.module[name])
            if rule is None
            else dual_of(name, rule, work.module, types)
        )
    entry = _entry(work.module[work.name], functions, data, types, wanted)
    for definition in types.definitions:
        module[definition.header] = definition
    for name, one in made.items():
        module[name] = one
    for variable, one in data.functions.items():
        module[variable] = one
    if made or data.functions:
        module.update(infer_module(module))
    return infer_expr(entry, module)


def _read_only(work: _Work, wanted: Sequence[int]) -> set[str]:
    """Data types whose values come from parameters without gradients only: nothing constructs
    them, and they are in no wanted parameter and not in the result."""
    function = work.module[work.name]
    made = {
        node.op.belong_to.name_hint
        for name in (work.name, *work.wanted)
        for node in tree.postorder(work.module[name])
        if isinstance(node, ir.Call) and isinstance(node.op, ir.Constructor)
    }
    definitions = work.module.type_definitions
    pending = [function.ret_type or function.body.checked_type]
    pending += [function.params[place].checked_type for place in wanted]
    seen: set[str] = set()
    while pending:
        for part in tree.postorder(pending.pop()):
            if isinstance(part, GlobalTypeVar) and part.name_hint not in seen:
                seen.add(part.name_hint)
                if part in definitions:
                    pending += [ty for c in definitions[part].constructors for ty in c.inputs]
    return {header.name_hint for header in definitions} - made - seen


def _entry(
    function: ir.Function,
    functions: Translator,
    data: Conversions,
    types: TypeTwins,
    wanted: Sequence[int],
) -> ir.Function:
    """Lift the parameters, run the function on duals, add ones to its gradient, and go back."""
    bindings: list[tuple[ir.Var, ir.Expr]] = []

    def bind(name: str, value: ir.Expr, ty: Type | None = None) -> ir.Var:
        bindings.append((ir.Var(name, ty), value))
        return bindings[-1][0]

    nothing = ir.Function((), ir.Tuple(()), UNIT)
    tape = bind("tape", ir.RefCreate(bind("stop", nothing, STEP)), TAPE)
    params: list[ir.Var] = []
    duals: dict[ir.Var, Dual] = {}
    lifted: list[ir.Var] = []
    types_of: list[Type] = []
    for place, param in enumerate(function.params):
        ty = param.type_annotation or param.checked_type
        params.append(ir.Var(param.name_hint, ty, span=param.span))
        types_of.append(ty)
        what = f"parameter `{param.name_hint}`"
        made = data.converted(Way.LIFT, params[-1], ty, param.span or function.span, what)
        lifted.append(bind("dual", made, types.of(ty)))
        duals[param] = tree.run(expanded(lifted[-1], ty))
        if place not in wanted:
            for leaf in leaves(duals[param]):
                leaf.varies = False
    result = function.ret_type or function.body.checked_type
    span = function.body.span or function.span
    dual = bind("result", functions.body(function, duals, tape), types.of(result))
    value = bind("value", data.converted(Way.VALUE, dual, result, span, "the result"), result)
    bind("seed", data.converted(Way.SEED, dual, result, span, "the result"), UNIT)
    bind("back", ir.Call(bind("steps", ir.RefRead(tape), STEP), ()), UNIT)
    gradients = [
        data.converted(Way.GRADIENT, lifted[place], types_of[place], span, "the parameters")
        for place in wanted
    ]
    body: ir.Expr = ir.Tuple((value, ir.Tuple(tuple(gradients))))
    for variable, bound in reversed(bindings):
        body = ir.Let(variable, bound, body)
    return ir.Function(
        tuple(params), body, None, function.type_params, function.attrs, span=function.span
    )
