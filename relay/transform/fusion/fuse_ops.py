"""Group operators into primitive functions, one per kernel:

nn.relu(add(nn.dense(%x, %w), %b))
->
fn (%p0, %p1, %p2, Primitive=1, …) { nn.relu(add(nn.dense(%p0, %p1), %p2)) }(%x, %w, %b)

for %x: Tensor[(4, 8), float32], %w: Tensor[(16, 8), float32], %b: Tensor[(16), float32]

`relay.transform.fusion.fusion_groups` decides which operators belong together. Every operator ends
up in a primitive function (`relay.transform.fusion.fusion_kernels`), alone if need be, so what is
left around them is the program that calls kernels. Effects are neither moved nor repeated.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Op, Syntax
from relay.ir.function_attrs import PRIMITIVE, is_foreign, is_sealed
from relay.ir.module import IRModule
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_groups import Boundary, Groups
from relay.transform.fusion.fusion_kernels import Kernels
from relay.transform.infer_type import InferType

__all__ = ["FuseOps", "FusedGroup", "explain_fusion"]

STOP_FUSION = "annotation.stop_fusion"


@frozen
class FuseOps(FunctionPass):
    """Groups operators into primitive functions.

    With `fuse_opt_level` 0 every operator is a group, -1 is the level of the PassContext. Options:
    `relay.FuseOps.max_depth`, the most operators per function, and `relay.FuseOps.link_params`,
    which keeps all constants inside.
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
        kernels = {root for root in groups.root if groups.operators(root)}
        link_params = context.option("relay.FuseOps.link_params")
        return _Fusion(flow, groups.root, kernels, link_params=link_params).of(function)


def _groups(flow: Dataflow, level: int, context: PassContext) -> Groups:
    limit = context.option("relay.FuseOps.max_depth")
    return Groups(flow, context.opt_level if level < 0 else level, limit)


class _Fusion(Kernels):
    """A function with all operators in kernels, and without `stop_fusion`."""

    def rewritten(self, e: Syntax) -> Syntax | None:
        if isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == STOP_FUSION:
            return self.new(e.args[0])
        return super().rewritten(e)


# --- why ---------------------------------------------------------------------------------------


@frozen
class FusedGroup:
    """The operators of one kernel, in order, and the reason why it has no more."""

    function: str
    operators: tuple[str, ...]
    boundary: Boundary

    def __str__(self) -> str:
        return f"@{self.function}: {' '.join(self.operators)} | {self.boundary}"


def explain_fusion(mod: IRModule, fuse_opt_level: int = -1) -> list[FusedGroup]:
    """The kernels that `FuseOps` would make of a module, each with the reason why it ends, and
    existing ones."""
    context = PassContext.current()
    found: list[FusedGroup] = []
    for name, function in InferType()(mod).functions.items():
        if is_foreign(function):
            continue
        if not is_sealed(function):
            groups = _groups(Dataflow(function), fuse_opt_level, context)
            members: dict[int, list[str]] = {}
            for node, root in zip(groups.nodes, groups.root, strict=True):
                if node.is_operator:
                    members.setdefault(root, []).append(node.name)
            found += [
                FusedGroup(name.name_hint, tuple(names), groups.boundary(root))
                for root, names in sorted(members.items())
            ]
        found += [_sealed(name.name_hint, kernel) for kernel in _kernels_in(function)]
    return found


def _kernels_in(function: Function) -> list[Function]:
    """The existing primitive functions, in order."""

    def enter(e: Syntax) -> bool:
        return e is function or not isinstance(e, Function) or not is_foreign(e)

    return [
        e
        for e in tree.postorder(function, enter)
        if isinstance(e, Function) and e.attrs.get(PRIMITIVE)
    ]


def _sealed(name: str, kernel: Function) -> FusedGroup:
    names = [
        e.op.name for e in tree.postorder(kernel) if isinstance(e, Call) and isinstance(e.op, Op)
    ]
    last = names[-1] if names else "nothing"
    return FusedGroup(name, tuple(names), Boundary(last, "Function", SEALED))


SEALED = "the function is primitive already, and kept as it is"
