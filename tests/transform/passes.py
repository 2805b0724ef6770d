"""Every pass, and what `test_every_pass.py` may expect of it.

A pass that is new needs a line here; most need nothing beside their name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from relay import transform
from relay.dataflow_pattern import is_op, wildcard
from relay.transform import Pass, catalogue


@dataclass(frozen=True)
class Tried:
    """How a pass is made and what holds for it."""

    make: Callable[[], Pass] | None = None  # with no arguments when it is not said
    first: Callable[[], tuple[Pass, ...]] = tuple  # what prepares programs for it
    idempotent: bool = True  # a second time changes nothing,
    keeps_functions: bool = True  # and gives back the functions it was given
    keeps_type: bool = True  # of main
    rewrites: bool = True  # it changes more than what is said about expressions
    own_cells: bool = False  # it may keep results in references of its own
    drops_cells: bool = False  # references that nobody else has may go, with what they are written
    rtol: float | None = None  # results are this near; they are exact where elements are
    config: dict[str, Any] = field(default_factory=dict)  # of the PassContext


def composites() -> tuple[Pass, ...]:
    """Functions of a simulated compiler, around single operators and pairs of them."""
    any_value = wildcard()
    table = [
        ("simulated.sum", is_op("add")(is_op("add")(any_value, any_value), any_value)),
        ("simulated.product", is_op("reshape")(is_op("nn.dense")(any_value, any_value))),
        ("simulated.scale", is_op("multiply")(any_value, any_value)),
    ]
    return (transform.MergeComposite(table),)


def outlined() -> tuple[Pass, ...]:
    return (*composites(), transform.PartitionGraph())


LAYOUTS = {
    "nn.conv2d": ["NHWC", "default"],
    "nn.max_pool2d": ["NHWC"],
    "nn.avg_pool2d": ["NHWC"],
}
OUTLINED = [f"tvmgen_default_simulated_main_{number}" for number in range(200)]

PASSES: dict[str, Tried] = {
    "AlterOpLayout": Tried(),
    "AnnotateSpans": Tried(keeps_functions=False, rewrites=False),  # of other text than the first
    "AnnotateTarget": Tried(lambda: transform.AnnotateTarget("simulated"), first=composites),
    "AnnotateUsedMemory": Tried(own_cells=True, first=lambda: (transform.FuseOps(),)),
    "ApplyPassToFunction": Tried(
        lambda: transform.ApplyPassToFunction(transform.FoldConstant(), "main")
    ),
    "AutoInline": Tried(idempotent=False),  # what was inlined calls what can be inlined
    "BackwardFoldScaleAxis": Tried(),
    "BatchingOps": Tried(),
    "BindConstantArguments": Tried(),
    "CanonicalizeCast": Tried(),
    "CheckIndices": Tried(),
    "CanonicalizeOps": Tried(),
    "CapturePostDfsIndexInSpans": Tried(rewrites=False),
    "ChangeBatch": Tried(lambda: transform.ChangeBatch({})),  # `examples.py` names parameters
    "CollectOuterProducts": Tried(own_cells=True, rtol=1e-5),
    "CombineParallelBatchMatmul": Tried(),
    "CombineParallelConv2D": Tried(),
    "CombineParallelDense": Tried(),
    "Conv2dToSparse": Tried(lambda: transform.Conv2dToSparse([], [])),  # and weights
    "Conv2dToSparse2": Tried(lambda: transform.Conv2dToSparse2("NCHW", 3, (1, 1), 0), rtol=1e-4),
    "ConvertLayout": Tried(lambda: transform.ConvertLayout(LAYOUTS)),
    "DeadCodeElimination": Tried(),
    "DefuseOps": Tried(first=lambda: (transform.FuseOps(),)),
    "DenseToSparse": Tried(lambda: transform.DenseToSparse([], [])),
    "DivToMul": Tried(),
    "DynamicToStatic": Tried(),
    "EliminateCommonSubexpr": Tried(),
    "ExpandOperators": Tried(rtol=1e-5),
    "EtaExpand": Tried(lambda: transform.EtaExpand(True, True, True)),
    "FakeQuantizationToInteger": Tried(),
    "FastMath": Tried(rtol=1e-5),
    "FirstOrderGradient": Tried(  # the type of main is another one afterwards
        lambda: transform.ApplyPassToFunction(transform.FirstOrderGradient(), "none")
    ),
    "FlattenAtrousConv": Tried(),
    "FlexibleShapeDispatch": Tried(  # the type of main is another one afterwards
        lambda: transform.ApplyPassToFunction(transform.FlexibleShapeDispatch([1]), "none")
    ),
    "FoldConstant": Tried(),
    "FoldExplicitPadding": Tried(),
    "FoldScaleAxis": Tried(),
    "ForwardFoldScaleAxis": Tried(),
    "FuseOps": Tried(),
    "HandOverConstants": Tried(
        first=lambda: (transform.FuseOps(),), config={"relay.FuseOps.link_params": True}
    ),
    "InferType": Tried(rewrites=False),
    "Inline": Tried(),
    "InlineCompilerFunctionsBoundTo": Tried(
        lambda: transform.InlineCompilerFunctionsBoundTo(OUTLINED), first=outlined
    ),
    "InlineComposites": Tried(first=composites),
    "LabelOps": Tried(first=lambda: (transform.FuseOps(),)),
    "LambdaLift": Tried(own_cells=True),
    "LazyGradientInit": Tried(own_cells=True),
    "Legalize": Tried(),
    "LiftConstants": Tried(),
    "LiftWeights": Tried(),
    "ManifestAlloc": Tried(own_cells=True, first=lambda: (transform.FuseOps(),)),
    "ManifestLifetimes": Tried(own_cells=True),
    "MarkCompilerFunctionsAsExtern": Tried(first=outlined),
    "MemoryPlan": Tried(
        own_cells=True, first=lambda: (transform.FuseOps(), transform.ManifestAlloc())
    ),
    "MergeCompilerRegions": Tried(
        first=lambda: (*composites(), transform.AnnotateTarget("simulated"))
    ),
    "MergeComposite": Tried(lambda: composites()[0]),
    "Monomorphize": Tried(own_cells=True),
    "OutlineCompilerFunctionsWithExistingGlobalSymbols": Tried(first=outlined),
    "PartialEvaluate": Tried(own_cells=True, drops_cells=True),
    "PartitionGraph": Tried(first=composites),
    "PrintIR": Tried(rewrites=False),
    "QnnCanonicalize": Tried(),
    "QnnLegalize": Tried(),
    "RecognizeAttention": Tried(),
    # how much is repeated is bounded by the size of the program it is given
    "Rematerialize": Tried(
        lambda: transform.Rematerialize(memory=64), own_cells=True, idempotent=False
    ),
    "RemoveStandaloneReshapes": Tried(first=lambda: (transform.FuseOps(fuse_opt_level=0),)),
    "RemoveUnusedFunctions": Tried(),
    "Sequential": Tried(lambda: transform.Sequential([transform.FoldConstant()])),
    "SimplifyExpr": Tried(),
    "SimplifyExprPostAlterOp": Tried(),
    "SimplifyFCTranspose": Tried(lambda: transform.SimplifyFCTranspose([])),
    "SimplifyInference": Tried(lambda: transform.SimplifyInference(all_norms=True)),
    "SpanCheck": Tried(first=lambda: (transform.AnnotateSpans(),), rewrites=False),
    "SpecializeCalls": Tried(idempotent=False),  # what it makes calls known functions again
    "SplitArgs": Tried(lambda: transform.SplitArgs(3)),
    "ToANormalForm": Tried(own_cells=True),
    "ToBasicBlockNormalForm": Tried(own_cells=True),
    "ToCPS": Tried(idempotent=False, own_cells=True),
    "ToGraphNormalForm": Tried(
        first=lambda: (transform.ToANormalForm(),), idempotent=False, own_cells=True
    ),
    "ToMixedPrecision": Tried(
        lambda: transform.ToMixedPrecision("float16", 2),
        rtol=0.05,
        config={"relay.ToMixedPrecision.keep_orig_output_dtype": True},
    ),
}


def passes_of_catalogue() -> list[str]:
    """The names of all there are: classes of passes, and functions that make one."""
    return [name for name in sorted(catalogue.exports()) if _is_pass(catalogue.find(name))]


def _is_pass(found: Any) -> bool:
    if isinstance(found, type):
        return issubclass(found, Pass)
    if not inspect.isfunction(found):
        return False
    given = str(inspect.signature(found).return_annotation)
    return given.rpartition(".")[2] in ("Pass", "Sequential", "FunctionPass", "ModulePass")


def tried(name: str) -> tuple[Pass, Tried]:
    """A pass, and what is expected of it; of one without a line, as of one that needs none."""
    expected = PASSES.get(name, Tried())
    return (expected.make or catalogue.find(name))(), expected
