"""The passes of straight-line code over tensors, by level; each with its reason."""

from __future__ import annotations

from relay.pipeline.quantized import QUANTIZED
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

# As written: for debugging, and to compare the other levels with.
LEVEL_0: tuple[Pass, ...] = (
    InferType(),  # lowering needs to know every shape
    InlineComposites(),  # no other compiler takes them
    LiftWeights(),  # before fusion, which would mix what runs once with what runs in every call
    ToBasicBlockNormalForm(),  # every branch is lowered on its own
    FuseOps(fuse_opt_level=0),  # one operator is one kernel
    HandOverConstants(),  # code for a kernel has no room for tensors, if fusion left some inside
)

# No work that need not be done at all, or not in every run.
LEVEL_1: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),  # first: what main does not reach costs the others time
    InferType(),
    InlineComposites(),  # before all that looks at operators
    SimplifyInference(),  # before folding: scale and shift of a batch_norm are constants then
    FoldConstant(),
    DeadCodeElimination(),  # sweeps what the two above left behind
    LiftWeights(),
    ToBasicBlockNormalForm(),
    FuseOps(fuse_opt_level=0),
    HandOverConstants(),
)

# No work done twice, and nothing written to memory only to be read back at once.
LEVEL_2: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),
    InferType(),
    InlineComposites(),
    DynamicToStatic(),  # before all that asks for sizes; costs one look where nothing is dynamic
    SimplifyInference(),
    *QUANTIZED,
    FoldConstant(fold_qnn=True),  # weights that are left on floats after all
    FlattenAtrousConv(),  # saves two passes over the data, and costs a look at convolutions
    FoldExplicitPadding(),  # saves one
    SimplifyExpr(),  # after folding, which shows what is 0 or 1
    EliminateCommonSubexpr(),  # after folding: constants that turn out equal make more equal
    DeadCodeElimination(inline_once=True),  # what has one use joins the graph that fusion sees
    LiftWeights(),
    ToBasicBlockNormalForm(),  # after merging, by which a branch may use what is outside
    RecognizeAttention(),  # before fusion, which would make several kernels of it
    FuseOps(fuse_opt_level=2),  # last: fused functions are opaque to the others
    HandOverConstants(),
)

# What level 3 does before layouts are chosen, and what it does afterwards.
REWRITTEN: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),
    InferType(),
    InlineComposites(),
    DynamicToStatic(),
    SimplifyInference(),
    *QUANTIZED,
    EliminateCommonSubexpr(),  # before combining, which puts the same side by side as well
    FoldConstant(fold_qnn=True),  # weights that are left on floats after all
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
FUSED: tuple[Pass, ...] = (
    FoldConstant(),  # again: weights in their new layouts
    EliminateCommonSubexpr(),  # a tensor that several need in one layout is laid out once
    CanonicalizeCast(),  # after this and the rules of algebra, which join conversions again
    DeadCodeElimination(inline_once=True),
    LiftWeights(),
    ToBasicBlockNormalForm(),
    RecognizeAttention(),
    FuseOps(fuse_opt_level=2),
    HandOverConstants(),
)

# The default: other weights and other layouts than the model has, and the same results.
LEVEL_3: tuple[Pass, ...] = (*REWRITTEN, *FUSED)

# Results may be a little off.
LEVEL_4: tuple[Pass, ...] = (
    *REWRITTEN,
    FastMath(),  # after the rules of algebra, which know the exact functions
    *FUSED,
)

LEVELS = (LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_4)
