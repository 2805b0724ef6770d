"""The passes of each level, with the reason for each.

`levels` is the list of straight-line code and whole programs; its parameters are the differences:
`STRAIGHT_LINE` here, and `relay.pipeline.whole`.
"""

from __future__ import annotations

from relay.transform.base import Pass
from relay.transform.external.inline_composites import InlineComposites
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions
from relay.transform.functional.to_basic_block_normal_form import ToBasicBlockNormalForm
from relay.transform.fusion.combine_parallel_conv2d import CombineParallelConv2D
from relay.transform.fusion.combine_parallel_dense import CombineParallelDense
from relay.transform.fusion.fuse_ops import FuseOps
from relay.transform.fusion.recognize_attention import RecognizeAttention
from relay.transform.infer_type import InferType
from relay.transform.layout.alter_op_layout import AlterOpLayout
from relay.transform.memory.hand_over_constants import HandOverConstants
from relay.transform.memory.lift_weights import LiftWeights
from relay.transform.precision.fast_math import FastMath
from relay.transform.quantized.fake_quantization_to_integer import FakeQuantizationToInteger
from relay.transform.quantized.qnn_canonicalize import QnnCanonicalize
from relay.transform.quantized.qnn_legalize import QnnLegalize
from relay.transform.scales.fold_scale_axis import FoldScaleAxis
from relay.transform.simplify.canonicalize_cast import CanonicalizeCast
from relay.transform.simplify.canonicalize_ops import CanonicalizeOps
from relay.transform.simplify.dead_code_elimination import DeadCodeElimination
from relay.transform.simplify.dynamic_to_static import DynamicToStatic
from relay.transform.simplify.eliminate_common_subexpr import EliminateCommonSubexpr
from relay.transform.simplify.expand_operators import ExpandOperators
from relay.transform.simplify.flatten_atrous_conv import FlattenAtrousConv
from relay.transform.simplify.fold_constant import FoldConstant
from relay.transform.simplify.fold_explicit_padding import FoldExplicitPadding
from relay.transform.simplify.simplify_expr import SimplifyExpr
from relay.transform.simplify.simplify_expr_post_alter_op import SimplifyExprPostAlterOp
from relay.transform.simplify.simplify_inference import SimplifyInference

Passes = tuple[Pass, ...]

# Level 1: removes work that is dead or constant.
SMALLER: Passes = (
    SimplifyInference(),  # before folding: scale and shift of a batch_norm are constants then
    FoldConstant(),
    DeadCodeElimination(),  # sweeps what the two above left behind
)
# Quantized networks: before folding, which would dequantize weights.
QUANTIZED: Passes = (
    FakeQuantizationToInteger(thorough=False),  # where it is faster and exact
    QnnLegalize(),  # operators on quantized tensors
    QnnCanonicalize(),  # integer products, and terms of weights that fold
)
# Level 2: common subexpressions, algebra and fusion.
SIMPLER: Passes = (
    SimplifyInference(),
    ExpandOperators(),  # before common subexpressions: gradients use the same statistics
    *QUANTIZED,
    FoldConstant(fold_qnn=True),  # weights that stay floats
    FlattenAtrousConv(),  # saves two passes over the data
    FoldExplicitPadding(),  # saves one
    SimplifyExpr(),  # after folding, which exposes 0 and 1
    EliminateCommonSubexpr(),  # after folding: equal constants make more equal
    DeadCodeElimination(inline_once=True),  # inlined values are visible to fusion
)
# Level 3, the default: rewrites weights and layouts.
FOLDED: Passes = (
    SimplifyInference(),
    ExpandOperators(),
    *QUANTIZED,
    EliminateCommonSubexpr(),  # before combining, which would combine equal products
    FoldConstant(fold_qnn=True),
)
REWRITTEN: Passes = (
    FoldScaleAxis(),  # after folding, when scales are constants
    CombineParallelConv2D(),  # after scales: those of single products would prevent it
    CombineParallelDense(to_batch=False),  # where its cost model says so
    FoldConstant(),  # again: combined weights
    FlattenAtrousConv(),  # before padding, which it may leave behind
    FoldExplicitPadding(),
    SimplifyExpr(),  # after scales, which stand between foldable operators
    CanonicalizeOps(),  # before layouts: an addition follows any of them, a bias_add names its axis
    AlterOpLayout(),  # after all changes of convolutions and their weights
    SimplifyExprPostAlterOp(),  # inverse layout transforms cancel
)
LAID_OUT: Passes = (
    FoldConstant(),  # again: weights in their new layouts
    EliminateCommonSubexpr(),  # one layout transform for several uses
    CanonicalizeCast(),  # after this and algebra, which merge conversions
    DeadCodeElimination(inline_once=True),
)
# The end of all levels. HandOverConstants: kernels contain no tensors.
ONE_BY_ONE: Passes = (ToBasicBlockNormalForm(), FuseOps(fuse_opt_level=0), HandOverConstants())
FUSED: Passes = (
    ToBasicBlockNormalForm(),  # after merging: branches may share values
    RecognizeAttention(),  # before fusion, which would split it
    FuseOps(fuse_opt_level=2),  # last: fused functions are opaque to the others
    HandOverConstants(),
)


def levels(
    typed: Passes,
    first: Passes,
    static: Passes,
    *,
    before_scales: Passes = (),
    before_fusion: Passes = (),
    last: Passes = (),
) -> tuple[Passes, ...]:
    """The passes of levels 0 to 4, which begin with `typed` at level 0, `first` at level 1, and
    `static` from level 2 on."""
    one_by_one = (*before_fusion, *ONE_BY_ONE, *last)
    fused = (*before_fusion, *FUSED, *last)
    rewritten = (*static, *FOLDED, *before_scales, *REWRITTEN)
    return (
        (*typed, *one_by_one),  # unoptimized: for debugging and as a baseline
        (*first, *SMALLER, *one_by_one),
        (*static, *SIMPLER, *fused),
        (*rewritten, *LAID_OUT, *fused),
        # approximations; after algebra, whose rules are about the exact functions
        (*rewritten, FastMath(), *LAID_OUT, *fused),
    )


_TYPED: Passes = (
    InferType(),
    InlineComposites(),  # first: no external compiler takes them
)
_FIRST: Passes = (RemoveUnusedFunctions(), *_TYPED)
STRAIGHT_LINE = levels(
    _TYPED,
    _FIRST,
    (*_FIRST, DynamicToStatic()),  # before passes that need sizes
    before_fusion=(LiftWeights(),),  # fusion would mix precomputed and per-call operators
)
