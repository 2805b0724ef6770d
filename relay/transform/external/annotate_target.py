"""Annotate what other compilers take, operator by operator:

AnnotateTarget(["dnnl"]):
def @main(%x: Tensor[(4), float32]) {
  exp(fn (%a: Tensor[(4), float32], Composite="dnnl.relu") { nn.relu(%a) }(%x))
}
->
def @main(%x: Tensor[(4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  %1 = fn (%a: Tensor[(4), float32], Composite="dnnl.relu") { nn.relu(%a) }(%0);
  exp(annotation.compiler_end(%1, compiler="dnnl"))
}

A compiler takes composite functions that are called after it, and operators whose attribute
`target.<compiler>` is a function that says so of a call. What several take goes to the first of
them. A tuple that such a call is given, and a field of a tuple that it gives, are annotated with
it. Tensors of unknown sizes stay with us.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import is_foreign, is_sealed
from relay.ir.types import TensorType, Type
from relay.op.annotation import compiler_begin, compiler_end
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.external.merge_composite import COMPOSITE
from relay.tree import Steps


@frozen
class AnnotateTarget(FunctionPass):
    """Puts `compiler_begin` and `compiler_end` around what the compilers of these names take."""

    required = ("InferType",)
    targets: str | Sequence[str]

    def __post_init__(self) -> None:
        given = (self.targets,) if isinstance(self.targets, str) else tuple(self.targets)
        if not all(isinstance(name, str) and name for name in given):
            raise PassError(f"names of compilers are needed, found {self.targets!r}")
        object.__setattr__(self, "targets", given)

    def rewrite(self, function: ir.Function) -> ir.Function:
        if COMPOSITE in function.attrs or is_sealed(function):
            return function
        settled: dict[ir.Syntax, ir.Syntax] = {
            node: node
            for node in tree.postorder(function)
            if isinstance(node, ir.Function) and (is_sealed(node) or COMPOSITE in node.attrs)
        }
        begun: set[int] = set()  # calls inside of annotations, which are left as they are
        for node in tree.postorder(function):
            if _is(node, compiler_end):
                begun.update(id(child) for child in tree.children(node))

        def annotated(before: ir.Syntax, after: ir.Syntax) -> ir.Syntax:
            match after:
                case ir.Call() if id(before) not in begun and (name := self._taker(before)):
                    args = tuple(tree.run(_begun(arg, name)) for arg in after.args)
                    return compiler_end(tree.replace(after, args=args), compiler=name)
                case ir.TupleGetItem(tuple_value=ir.Call() as value) if _is(value, compiler_end):
                    name = str(getattr(value.attrs, "compiler", ""))
                    field = tree.replace(after, tuple_value=compiler_begin(value, compiler=name))
                    return compiler_end(field, compiler=name)
            return after

        return tree.transform(function, annotated, settled)

    def _taker(self, call: ir.Syntax) -> str | None:
        """The first compiler that takes a call."""
        if not isinstance(call, ir.Call) or not all(map(_is_static, (call, *call.args))):
            return None
        for name in self.targets:
            match call.op:
                case OpDef() as op if not op.on_values and not op.stateful:
                    check = op.get_attr(f"target.{name}")
                    if callable(check) and check(call):
                        return name
                case ir.Function() as callee if not is_foreign(callee):
                    if str(callee.attrs.get(COMPOSITE, "")).startswith(f"{name}."):
                        return name
        return None


def _is(node: ir.Syntax, op: ir.Op) -> bool:
    return isinstance(node, ir.Call) and node.op is op


def _is_static(e: ir.Expr) -> bool:
    """Whether a value consists of tensors of known sizes."""
    leaves: list[Type | None] = [e.checked_type]
    tensors = (part for leaf in leaves if leaf is not None for part in tree.postorder(leaf))
    return all(
        type(size) is int for part in tensors if isinstance(part, TensorType) for size in part.shape
    )


def _begun(arg: ir.Expr, compiler: str) -> Steps[ir.Expr]:
    """An argument where it enters a region; a tuple enters field by field."""
    if not isinstance(arg, ir.Tuple):
        return compiler_begin(arg, compiler=compiler)
    fields = yield tree.gather(_begun(part, compiler) for part in arg.fields)
    return tree.replace(arg, fields=tuple(fields))
