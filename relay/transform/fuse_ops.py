"""Put operators that make one kernel into a function of their own:

nn.relu(add(nn.dense(%x, %w), %b))
->
fn (%p0, %p1, %p2, Primitive=1) { nn.relu(add(nn.dense(%p0, %p1), %p2)) }(%x, %w, %b)

`relay.transform.fusion_groups` says which operators belong together. Every operator ends up in such
a function, alone if need be, so what is left around them is the program that calls kernels. Scalar
constants stay with the operators that use them; other constants are handed over, so that layers
that differ in their weights only are the same kernel. Arguments are evaluated in the order they
were before, and nothing that has effects is moved or repeated.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay import tree
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Syntax, Var
from relay.ir.module import IRModule
from relay.nd import Weight
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.fusion_dataflow import PRIMITIVE, Dataflow, is_sealed
from relay.transform.fusion_groups import Boundary, Groups
from relay.transform.infer_type import InferType
from relay.tree import Steps

__all__ = ["FuseOps", "FusedGroup", "explain_fusion"]

STOP_FUSION = "annotation.stop_fusion"


@dataclass(frozen=True)
class FuseOps(FunctionPass):
    """Makes primitive functions of groups of operators.

    `fuse_opt_level` 0 leaves every operator alone, -1 is the level of the PassContext. Options of
    the context: `relay.FuseOps.max_depth`, the most operators in one function, and
    `relay.FuseOps.link_params`, which keeps all constants inside.
    """

    required = ("InferType",)
    fuse_opt_level: int = -1

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        if is_sealed(function):
            return function
        flow = Dataflow(function)
        groups = _groups(flow, self.fuse_opt_level, context)
        fused = _Fusion(flow, groups, context.option("relay.FuseOps.link_params")).of(function)
        assert isinstance(fused, Function)
        return fused


def _groups(flow: Dataflow, level: int, context: PassContext) -> Groups:
    limit = context.option("relay.FuseOps.max_depth")
    return Groups(flow, context.opt_level if level < 0 else level, limit)


class _Fusion:
    """A function rewritten, with the groups in functions of their own."""

    def __init__(self, flow: Dataflow, groups: Groups, link_params: bool) -> None:
        self._flow = flow
        self._groups = groups
        self._link_params = link_params
        self._new: dict[int, Syntax] = {}

    def of(self, function: Function) -> Syntax:
        for e in tree.postorder(function):
            if (after := self._rewritten(e)) is not None:
                self._new[id(e)] = after
        return self._new[id(function)]

    def _group(self, e: Syntax) -> int | None:
        """The group whose function `e` goes into; by its root."""
        if (number := self._flow.number(e)) is None:
            return None
        root = self._groups.root[number]
        return root if self._groups.operators(root) else None

    def _rewritten(self, e: Syntax) -> Syntax | None:
        """What stands in the place of `e`; None if it is inside a kernel."""
        group = self._group(e)
        if group is not None and not isinstance(e, Var):
            root = self._groups.nodes[group].expr
            return self._kernel(root, group) if root is e else None
        if isinstance(e, Let) and self._is_inside(e.variable):
            return self._new[id(e.body)]
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == STOP_FUSION:
            return self._new[id(e.args[0])]
        return tree.rebuild(e, [self._new[id(child)] for child in tree.children(e)])

    def _is_inside(self, variable: Var) -> bool:
        """Whether the value is computed inside a kernel, where all that uses it is as well."""
        group, number = self._group(variable), self._flow.number(variable)
        return group is not None and group != number

    def _kernel(self, root: Expr, group: int) -> Call:
        """The call of the function that a group becomes."""
        inside: dict[int, Expr] = {}
        params: dict[Expr, Var] = {}

        def part(e: Expr) -> Steps[Expr]:
            """What stands for `e` in the function."""
            number = self._flow.number(e)
            if number is None or self._groups.root[number] != group:
                return given(e)
            if number not in inside:
                node = self._groups.nodes[number].expr
                below = []
                for child in tree.children(node):
                    below.append((yield part(child)))
                inside[number] = tree.rebuild(node, below)
            return inside[number]

        def given(e: Expr) -> Expr:
            """What comes from outside: mostly a parameter, in the order of first use."""
            if isinstance(e, Op) or (isinstance(e, Constant) and self._stays(e)):
                return e
            arg = self._new[id(e)]
            assert isinstance(arg, Expr)
            if arg not in params:
                params[arg] = Var(f"p{len(params)}", e.checked_type)
            return params[arg]

        body = tree.run(part(root))
        function = Function(
            tuple(params.values()),
            body,
            root.checked_type,
            attrs=DictAttrs({PRIMITIVE: 1}),
            span=root.span,
        )
        return Call(function, tuple(params), span=root.span)

    def _stays(self, constant: Constant) -> bool:
        if isinstance(constant.data, Weight):
            return False
        return self._link_params or constant.data.shape == ()


# --- why ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FusedGroup:
    """The operators of one kernel, in order, and why there are no more of them."""

    function: str
    operators: tuple[str, ...]
    boundary: Boundary

    def __str__(self) -> str:
        return f"@{self.function}: {' '.join(self.operators)} | {self.boundary}"


def explain_fusion(mod: IRModule, fuse_opt_level: int = -1) -> list[FusedGroup]:
    """The kernels that `FuseOps` would make of a module, each with the reason why it ends."""
    context = PassContext.current()
    found: list[FusedGroup] = []
    for name, function in InferType()(mod).functions.items():
        if is_sealed(function):
            continue
        groups = _groups(Dataflow(function), fuse_opt_level, context)
        members: dict[int, list[str]] = {}
        for node, root in zip(groups.nodes, groups.root, strict=True):
            if node.is_operator:
                members.setdefault(root, []).append(node.name)
        found += [
            FusedGroup(name.name_hint, tuple(names), groups.boundary(root))
            for root, names in sorted(members.items())
        ]
    return found
