"""Group matches of a pattern into composite functions, operators of another compiler:

MergeComposite([("dnnl.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]):
nn.relu(add(%x, %y))
->
fn (%a, %b, PartitionedFromPattern="add_nn.relu_", Composite="dnnl.add_relu") {
  nn.relu(add(%a, %b))
}(%x, %y)

The part of the name before the first dot is the compiler that knows the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relay.check.infer import infer_expr
from relay.dataflow_pattern import DFPattern
from relay.dataflow_pattern.graph import PARTITIONED as PARTITIONED
from relay.dataflow_pattern.partition import partition
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext

COMPOSITE = "Composite"


@frozen
class MergeComposite(FunctionPass):
    """Moves the matches of a table of patterns into composite functions.

    An entry is (name, pattern) or (name, pattern, check); `check` decides about a match, given as a
    typed expression. Entries are tried in order, and matches do not overlap.
    """

    required = ("InferType",)
    pattern_table: Iterable[tuple[Any, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern_table", tuple(map(_entry, self.pattern_table)))

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        if function.attrs.get("Primitive") or COMPOSITE in function.attrs:
            return function
        for name, pattern, check in self.pattern_table:
            after = partition(pattern, function, {COMPOSITE: name}, check)
            if after is not function:
                # the checks of later entries get typed expressions
                after = infer_expr(after, module)
                assert isinstance(after, Function)
                function = after
        return function


def _accept(_: Expr) -> bool:
    return True


def _entry(given: Any) -> tuple[str, DFPattern, Callable[[Expr], bool]]:
    """An entry of a table with its check."""
    match given:
        case (str() as name, DFPattern() as pattern):
            return name, pattern, _accept
        case (str() as name, DFPattern() as pattern, check) if callable(check):
            return name, pattern, check
    raise PassError(
        f"an entry of a pattern table is (name, pattern) or (name, pattern, check), found {given!r}"
    )
