"""Move computations on weights alone into a function that runs once:

def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(2, 3), float32], Weights=["w"]) {
  nn.dense(%x, exp(%w))
}
->
def @prepare(%w: Tensor[(2, 3), float32]) { (exp(%w),) }
def @main(%x, %packed_0, Prepare="prepare") { nn.dense(%x, %packed_0) }

The attribute `Weights` of `@main` names parameters that stay the same from call to call. They
become the parameters of `@prepare`, and the fields of its result the last parameters of `@main`. So
weights are never folded into the program: kernels do not depend on them, and new weights only
require `@prepare` to run again. It comes before fusion, which would mix the two.

What is not worth storing (`relay.analysis.precompute`) is computed in every call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relay import tree
from relay.analysis.precompute import is_precomputable, is_worth_storing, size_of
from relay.check.infer import infer_module, with_known_types
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import WEIGHTS
from relay.ir.module import IRModule
from relay.ir.types import TupleType, Type
from relay.ir.variables import free_vars
from relay.op.opdef import OpDef
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

PREPARE = "Prepare"


@frozen
class LiftWeights(ModulePass):
    """Splits `@main` into what depends on the weights named by its attribute, and the rest."""

    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if "main" not in module or WEIGHTS not in module["main"].attrs:
            return module
        main: ir.Function = module["main"]
        names = set(main.attrs[WEIGHTS])
        weights = [param for param in main.params if param.name_hint in names]
        if missing := sorted(names - {param.name_hint for param in weights}):
            raise PassError(f"`@main` has no parameter `{missing[0]}` that could be a weight")
        split = _Split(main, weights)
        prepare = _unused(module, "prepare")
        for name, function in ((prepare, split.prepare()), ("main", split.main(prepare))):
            module[name] = with_known_types(function, main, split.type_of)
        return infer_module(module)


def _unused(module: IRModule, stem: str) -> str:
    names = (stem, *(f"{stem}_{i}" for i in range(len(module.functions))))
    return next(name for name in names if name not in module)


@dataclass
class _Split:
    """Splits a function into the part that depends on weights alone, and the rest."""

    function: ir.Function
    weights: list[ir.Var]
    bound: dict[ir.Var, ir.Expr] = field(default_factory=dict)  # variables of lets
    # of expressions that depend on weights alone: their form in `@prepare`, and the bytes of
    # weights they depend on
    lifted: dict[int, ir.Expr] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)
    packed: dict[int, tuple[ir.Expr, ir.Var]] = field(
        default_factory=dict
    )  # by the form in @prepare
    types: dict[int, Type] = field(default_factory=dict)  # of new expressions

    def __post_init__(self) -> None:
        for weight in self.weights:
            self.lifted[id(weight)] = weight
            self.origins[id(weight)] = size_of(weight.checked_type) or 0
        self.order = list(tree.postorder(self.function.body, enter=_is_entered))
        for node in self.order:
            if isinstance(node, ir.Let):
                self.bound[node.variable] = node.value
        for node in self.order:
            if isinstance(node, ir.Expr):
                self.look_at(node)

    def meant(self, part: ir.Expr) -> ir.Expr:
        """`part`, or the value that a variable of a let is bound to."""
        passed = []
        while isinstance(part, ir.Var) and part in self.bound:
            passed.append(part)
            part = self.bound[part]
        for variable in passed:
            self.bound[variable] = part
        return part

    def is_lifted(self, part: ir.Syntax) -> bool:
        return isinstance(part, ir.Expr) and id(self.meant(part)) in self.lifted

    def look_at(self, node: ir.Expr) -> None:
        """Lift `node` if it depends on weights alone and is worth storing."""
        match node:
            case ir.Call(op=OpDef() as op, args=args) if is_precomputable(op):
                parts = list(map(self.meant, args))
            case ir.Tuple(fields=args):
                parts = list(map(self.meant, args))
            case ir.TupleGetItem(tuple_value=value):
                parts = [self.meant(value)]
            case _:
                return
        weighty = [part for part in parts if id(part) in self.lifted]
        plain = sum(isinstance(part, ir.Constant) for part in parts)
        if not weighty or len(weighty) + plain < len(parts):
            return
        origin = sum(self.origins[id(part)] for part in weighty)
        size = size_of(node.checked_type)
        if size is None or not is_worth_storing(size, origin):
            return
        over = [self.in_prepare(child) for child in tree.children(node)]
        rebuilt = tree.rebuild(node, over)
        assert isinstance(rebuilt, ir.Expr)
        self.types[id(rebuilt)] = node.checked_type
        self.lifted[id(node)] = rebuilt
        self.origins[id(node)] = origin

    def in_prepare(self, part: ir.Syntax) -> ir.Syntax:
        if not isinstance(part, ir.Expr):
            return part
        found = self.meant(part)
        return self.lifted.get(id(found), found)

    def border(self) -> Iterable[ir.Expr]:
        """The lifted expressions with users that are not lifted."""
        for node in self.order:
            if ir.is_atom(node) or self.is_lifted(node):
                continue
            used: Iterable[ir.Syntax]
            if isinstance(node, ir.Let):
                used = (node.body,)  # the value is used where the variable is
            elif _is_entered(node):
                used = tree.children(node)
            else:
                used = free_vars(node)
            yield from (part for part in used if isinstance(part, ir.Expr) and self.is_lifted(part))
        if self.is_lifted(self.function.body):
            yield self.function.body

    def main(self, prepare: str) -> ir.Function:
        """The function without its weights."""
        replaced: dict[ir.Syntax, ir.Syntax] = {
            part: self.handed_over(part) for part in self.border()
        }

        def drop(before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
            if (
                isinstance(before, ir.Let)
                and isinstance(after, ir.Let)
                and self.is_lifted(before.value)
            ):
                return after.body
            if isinstance(before, ir.Expr) and before.ty is not None:
                self.types[id(after)] = before.ty
            return after

        body = tree.transform(self.function.body, drop, replaced)
        inputs = [param for param in self.function.params if id(param) not in self.lifted]
        attrs = self.function.attrs.without(WEIGHTS).with_item(PREPARE, prepare)
        params = (*inputs, *(var for _, var in self.packed.values()))
        return tree.replace(self.function, params=params, body=body, attrs=attrs)

    def prepare(self) -> ir.Function:
        """The function that computes on weights."""
        for part in self.border():
            self.handed_over(part)
        result = ir.Tuple(tuple(e for e, _ in self.packed.values()))
        ty = TupleType(tuple(self.types[id(variable)] for _, variable in self.packed.values()))
        self.types[id(result)] = ty
        return ir.Function(tuple(self.weights), result, ty)

    def type_of(self, e: ir.Expr) -> Type | None:
        """The type of a new expression."""
        return e.declared_type if isinstance(e, ir.Function) else self.types.get(id(e))

    def handed_over(self, part: ir.Expr) -> ir.Var:
        """The parameter of `@main` that a lifted expression becomes."""
        lifted = self.lifted[id(self.meant(part))]
        if id(lifted) not in self.packed:
            variable = ir.Var(f"packed_{len(self.packed)}", part.checked_type)
            self.types[id(variable)] = part.checked_type
            self.packed[id(lifted)] = (lifted, variable)
        return self.packed[id(lifted)][1]


def _is_entered(node: ir.Syntax) -> bool:
    """Whether the parts of `node` may be lifted: not out of branches and functions."""
    return not isinstance(node, ir.Function | ir.If | ir.Match)
