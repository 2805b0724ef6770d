"""The passes of each level, with the reason for each.

Straight-line code over tensors and whole programs go through one list, `levels`; its parameters are
the differences: `STRAIGHT_LINE` here, and `relay.pipeline.whole` for whole programs.
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
from relay.transform.simplify.flatten_atrous_conv import FlattenAtrousConv
from relay.transform.simplify.fold_constant import FoldConstant
from relay.transform.simplify.fold_explicit_padding import FoldExplicitPadding
from relay.transform.simplify.simplify_expr import SimplifyExpr
from relay.transform.simplify.simplify_expr_post_alter_op import SimplifyExprPostAlterOp
from relay.transform.simplify.simplify_inference import SimplifyInference

Passes = tuple[Pass, ...]

# Level 1: no work that need not be done at all, or not in every run.
SMALLER: Passes = (
    SimplifyInference(),  # before folding: scale and shift of a batch_norm are constants then
    FoldConstant(),
    DeadCodeElimination(),  # sweeps what the two above left behind
)
# Of quantized networks: before folding, which would turn the integers of weights into floats.
QUANTIZED: Passes = (
    FakeQuantizationToInteger(thorough=False),  # where it gains, and computes what floats would
    QnnLegalize(),  # of operators on quantized tensors
    QnnCanonicalize(),  # products of bytes, and terms of weights that are folded
)
# Level 2: no work done twice, and nothing written to memory only to be read back at once.
SIMPLER: Passes = (
    SimplifyInference(),
    *QUANTIZED,
    FoldConstant(fold_qnn=True),  # weights that stay floats after all
    FlattenAtrousConv(),  # saves two passes over the data, and costs a look at convolutions
    FoldExplicitPadding(),  # saves one
    SimplifyExpr(),  # after folding, which shows what is 0 or 1
    EliminateCommonSubexpr(),  # after folding: constants that turn out equal make more equal
    DeadCodeElimination(inline_once=True),  # what has one use joins the graph that fusion sees
)
# Level 3, the default: other weights and other layouts than the model has, and the same results.
FOLDED: Passes = (
    SimplifyInference(),
    *QUANTIZED,
    EliminateCommonSubexpr(),  # before combining, which puts the same side by side as well
    FoldConstant(fold_qnn=True),
)
REWRITTEN: Passes = (
    FoldScaleAxis(),  # after folding: scales are constants then; what it makes of weights it folds
    CombineParallelConv2D(),  # after scales: one that only some of the products have would stay
    CombineParallelDense(to_batch=False),  # one wide product, where its rule says that it pays
    FoldConstant(),  # again: it joins the weights
    FlattenAtrousConv(),  # before padding, which it may leave behind
    FoldExplicitPadding(),
    SimplifyExpr(),  # after scales are gone, which stand between what can be joined
    CanonicalizeOps(),  # before layouts: an addition follows any of them, a bias_add names its axis
    AlterOpLayout(),  # after all that changes convolutions, and their weights
    SimplifyExprPostAlterOp(),  # a transform and the one back again are none
)
LAID_OUT: Passes = (
    FoldConstant(),  # again: weights in their new layouts
    EliminateCommonSubexpr(),  # a tensor that several need in one layout is laid out once
    CanonicalizeCast(),  # after this and the rules of algebra, which join conversions again
    DeadCodeElimination(inline_once=True),
)
# What ends all levels. A kernel has no room for tensors, if fusion left some inside.
ONE_BY_ONE: Passes = (ToBasicBlockNormalForm(), FuseOps(fuse_opt_level=0), HandOverConstants())
FUSED: Passes = (
    ToBasicBlockNormalForm(),  # after merging, by which a branch may use what is outside
    RecognizeAttention(),  # before fusion, which would make several kernels of it
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
    """The passes of levels 0 to 4. They begin with `typed` at level 0, `first` at level 1, and
    `static` from level 2 on."""
    one_by_one = (*before_fusion, *ONE_BY_ONE, *last)
    fused = (*before_fusion, *FUSED, *last)
    rewritten = (*static, *FOLDED, *before_scales, *REWRITTEN)
    return (
        (*typed, *one_by_one),  # as written: for debugging, and to compare the others with
        (*first, *SMALLER, *one_by_one),
        (*static, *SIMPLER, *fused),
        (*rewritten, *LAID_OUT, *fused),
        # results may be a little off; after the rules of algebra, which know the exact functions
        (*rewritten, FastMath(), *LAID_OUT, *fused),
    )


_TYPED: Passes = (
    InferType(),  # lowering needs to know every shape
    InlineComposites(),  # before all that looks at operators: no other compiler takes them
)
_FIRST: Passes = (RemoveUnusedFunctions(), *_TYPED)  # what main does not reach costs time
STRAIGHT_LINE = levels(
    _TYPED,
    _FIRST,
    (*_FIRST, DynamicToStatic()),  # before all that asks for sizes
    before_fusion=(LiftWeights(),),  # fusion would mix what runs once with what every call runs
)
