"""Replace weight parameters by parameters in another form:

def @main(%x, %w) { nn.dense(%x, transpose(%w)) }  ->  def @main(%x, %w.T) { nn.dense(%x, %w.T) }

Only functions without callers have parameters that may change. A parameter that is still used
after all, in another way, stays beside the new ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Syntax, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.types import TensorType, Type
from relay.ir.variables import all_vars
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

# The new parameters that replace an old one.
Forms = Callable[[Var], tuple[Var, ...]]
# The replacement of a call, from its form before and after, and the new parameters; None: it stays
Rewrite = Callable[[Call, Call, Mapping[Var, tuple[Var, ...]]], Expr | None]


def with_other_weights(
    module: IRModule, names: Sequence[str], forms: Forms, rewrite: Rewrite
) -> IRModule:
    """The typed module with the parameters of those names in other forms, where `rewrite` uses
    these."""
    wanted = set(names)
    graph = CallGraph(module)
    changed: dict[str, Function] = {}
    for name, function in module.functions.items():
        if is_foreign(function) or graph.ref_count(name):
            continue
        new = {v: forms(v) for v in function.params if v.name_hint in wanted}
        if new and (after := _rewritten(function, new, rewrite)) is not function:
            changed[name.name_hint] = after
    for key, function in changed.items():
        module[key] = function
    return infer_module(module) if changed else module


def _rewritten(
    function: Function, new: Mapping[Var, tuple[Var, ...]], rewrite: Rewrite
) -> Function:
    def visit(before: Syntax, after: Syntax) -> Syntax:
        if isinstance(before, Call) and isinstance(after, Call):
            return rewrite(before, after, new) or after
        return after

    body = tree.transform(function.body, visit)
    if body is function.body:
        return function
    used = set(all_vars(body))
    params: list[Var] = []
    for param in function.params:
        came = [v for v in new.get(param, ()) if v in used]
        if param in used or not came:
            params.append(param)
        params.extend(came)
    return tree.replace(function, params=tuple(params), body=body)


def block_sparse_form(
    weight_name: Sequence[str], weight_shape: Sequence[Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """The extents of BSR weights by name, as `relay.analysis.sparse_dense` returns them."""
    if len(weight_name) != len(weight_shape):
        raise PassError(
            f"there are {len(weight_name)} weights and the shapes of {len(weight_shape)}"
        )
    found = {}
    for name, extents in zip(weight_name, weight_shape, strict=True):
        if not 3 <= len(extents) <= 5:
            raise PassError(
                f"the shape of the sparse weight `{name}` has the extents of its data, of its "
                f"indices and of its bounds, found {list(extents)}"
            )
        found[str(name)] = tuple(int(extent) for extent in extents)
    return found


@frozen
class ToSparse(ModulePass, ABC):
    """A pass that stores the parameters `weight_name` in BSR format.

    A shape is the concatenated shapes of the blocks, their indices and their bounds.
    """

    opt_level = 4
    required = ("DeadCodeElimination", "InferType")
    weight_name: Sequence[str]
    weight_shape: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        block_sparse_form(self.weight_name, self.weight_shape)

    @abstractmethod
    def sparse(self, before: Call, data: Expr, parts: tuple[Var, ...]) -> Expr | None:
        """The replacement of a call of `data` and a weight in BSR format; None: it stays."""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        def rewrite(before: Call, after: Call, new: Mapping[Var, tuple[Var, ...]]) -> Expr | None:
            match before.args:
                case (_, Var() as weight) if weight in new:
                    return self.sparse(before, after.args[0], new[weight])
            return None

        shapes = block_sparse_form(self.weight_name, self.weight_shape)
        return with_other_weights(module, list(shapes), in_blocks(shapes), rewrite)


def in_blocks(shapes: Mapping[str, tuple[int, ...]]) -> Forms:
    """`%w` becomes `%w.data`, `%w.indices` and `%w.indptr`."""

    def forms(weight: Var) -> tuple[Var, ...]:
        *data, stored, bounds = shapes[weight.name_hint]
        ty = weight.checked_type
        assert isinstance(ty, TensorType)
        types: dict[str, Type] = {
            "data": TensorType(tuple(data), ty.dtype),
            "indices": TensorType((stored,), "int32"),
            "indptr": TensorType((bounds,), "int32"),
        }
        return tuple(
            Var(f"{weight.name_hint}.{part}", form, span=weight.span)
            for part, form in types.items()
        )

    return forms
