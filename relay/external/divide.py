"""Divides a module: what external compilers take becomes functions of theirs."""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.external.compiler import ExternalCompiler
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.transform.external.annotate_target import AnnotateTarget
from relay.transform.external.inline_compiler_functions_bound_to import (
    InlineCompilerFunctionsBoundTo,
)
from relay.transform.external.merge_compiler_regions import MergeCompilerRegions
from relay.transform.external.merge_composite import MergeComposite
from relay.transform.external.partition_graph import PartitionGraph
from relay.transform.functional.to_graph_normal_form import ToGraphNormalForm


def divided(module: IRModule, compilers: Sequence[ExternalCompiler]) -> IRModule:
    """The typed module with what the compilers take as functions of theirs, as far as sizes are
    known; what several take goes to the first. Names of values are lost: patterns and regions do
    not reach over them."""
    module = ToGraphNormalForm()(module)
    for compiler in compilers:
        module = MergeComposite(compiler.patterns())(module)
    module = AnnotateTarget([compiler.name for compiler in compilers])(module)
    module = PartitionGraph()(MergeCompilerRegions()(module))
    unknown = [name for name, one in external_functions(module).items() if not _is_static(one)]
    return take_back(module, unknown) if unknown else module


def external_functions(module: IRModule) -> dict[str, Function]:
    """The functions of external compilers, by name."""
    return {
        name.name_hint: function
        for name, function in module.functions.items()
        if function.attrs.get("Compiler", "default") != "default"
    }


def take_back(module: IRModule, names: Sequence[str] | None = None) -> IRModule:
    """The program with functions of external compilers, all or those of these names, as ordinary
    code."""
    wanted = external_functions(module) if names is None else names
    return InlineCompilerFunctionsBoundTo(list(wanted))(module)


def _is_static(function: Function) -> bool:
    types = [e.checked_type for e in (function.body, *function.params)]
    tensors = (part for ty in types for part in tree.postorder(ty) if isinstance(part, TensorType))
    return all(type(size) is int for tensor in tensors for size in tensor.shape)
