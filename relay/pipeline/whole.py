"""The passes of whole programs: functions, data, branches; by level, each with its reason."""

from __future__ import annotations

from relay.pipeline.quantized import QUANTIZED
from relay.transform.base import Pass
from relay.transform.external.inline_composites import InlineComposites
from relay.transform.functional.auto_inline import AutoInline
from relay.transform.functional.bind_constant_arguments import BindConstantArguments
from relay.transform.functional.eta_expand import EtaExpand
from relay.transform.functional.lambda_lift import LambdaLift
from relay.transform.functional.monomorphize import Monomorphize
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions
from relay.transform.functional.specialize_calls import SpecializeCalls
from relay.transform.functional.to_a_normal_form import ToANormalForm
from relay.transform.functional.to_basic_block_normal_form import ToBasicBlockNormalForm
from relay.transform.fusion.combine_parallel_conv2d import CombineParallelConv2D
from relay.transform.fusion.combine_parallel_dense import CombineParallelDense
from relay.transform.fusion.fuse_ops import FuseOps
from relay.transform.fusion.recognize_attention import RecognizeAttention
from relay.transform.infer_type import InferType
from relay.transform.layout.alter_op_layout import AlterOpLayout
from relay.transform.memory.hand_over_constants import HandOverConstants
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

# What makes all functions functions of the module, and leaves no type parameters.
FIRST_ORDER: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),
    InferType(),
    InlineComposites(),  # no other compiler takes them, so their operators are ours
    EtaExpand(expand_constructor=True, expand_operator=True),  # from here on they are called only
    ToBasicBlockNormalForm(),  # no function may share a computation with what is around it
    LambdaLift(),
    Monomorphize(),  # after lifting: only functions of the module have to be copied
)

# What names every value of fused code, in the order of evaluation.
IN_ORDER: tuple[Pass, ...] = (
    ToANormalForm(),  # after fusion, which leaves fewer values
    LambdaLift(),  # a computation that waits until it is needed is a function
    InferType(),
)

LEVEL_0: tuple[Pass, ...] = (
    *FIRST_ORDER,
    FuseOps(fuse_opt_level=0),
    HandOverConstants(),
    *IN_ORDER,
)

LEVEL_1: tuple[Pass, ...] = (
    *FIRST_ORDER,
    SimplifyInference(),
    FoldConstant(),
    DeadCodeElimination(),
    ToBasicBlockNormalForm(),
    FuseOps(fuse_opt_level=0),
    HandOverConstants(),
    *IN_ORDER,
)

# No call that need not be made, and no function that need not be a value.
CALLED: tuple[Pass, ...] = (
    *FIRST_ORDER,
    AutoInline(),  # before specializing: what a small function returns is known to its callers
    SpecializeCalls(),
    DeadCodeElimination(),  # closures that nobody calls any more
    RemoveUnusedFunctions(),  # and the functions that they made necessary
    AutoInline(),  # what was called as a value is called by name now, often from one place
    BindConstantArguments(),  # before folding, which sees the constants then
    DynamicToStatic(),  # after calls are gone, which hide constants, and before who asks for sizes
)
# What is rewritten in each of them. What a pass makes of weights is computed once: fusion leaves it
# in kernels of its own, whose results lowering keeps.
SIMPLER: tuple[Pass, ...] = (
    SimplifyInference(),
    *QUANTIZED,
    FoldConstant(fold_qnn=True),  # weights that are left on floats after all
    FlattenAtrousConv(),
    FoldExplicitPadding(),
    SimplifyExpr(),  # after folding, which shows what is 0 or 1
    EliminateCommonSubexpr(),
    DeadCodeElimination(inline_once=True),
)
# The same with other weights and other layouts than the model has, in the order of straight lines,
# where the reasons stand.
REWRITTEN: tuple[Pass, ...] = (
    SimplifyInference(),
    *QUANTIZED,
    EliminateCommonSubexpr(),
    FoldConstant(fold_qnn=True),
    DeadCodeElimination(inline_once=True),  # before scales, which do not go through a `let`
    FoldScaleAxis(),
    CombineParallelConv2D(),
    CombineParallelDense(to_batch=False),
    FoldConstant(),
    FlattenAtrousConv(),
    FoldExplicitPadding(),
    SimplifyExpr(),
    CanonicalizeOps(),
    AlterOpLayout(),
    SimplifyExprPostAlterOp(),
    FoldConstant(),
    EliminateCommonSubexpr(),
    CanonicalizeCast(),
    DeadCodeElimination(inline_once=True),
)
FUSED: tuple[Pass, ...] = (
    ToBasicBlockNormalForm(),  # after merging, by which a branch may use what is outside
    RecognizeAttention(),  # before fusion, which would make several kernels of it
    FuseOps(fuse_opt_level=2),
    HandOverConstants(),  # code for a kernel has no room for tensors, if fusion left some inside
    *IN_ORDER,
)

LEVEL_2: tuple[Pass, ...] = (*CALLED, *SIMPLER, *FUSED)

LEVEL_3: tuple[Pass, ...] = (*CALLED, *REWRITTEN, *FUSED)

# Results may be a little off.
LEVEL_4: tuple[Pass, ...] = (
    *CALLED,
    *REWRITTEN,
    FastMath(),  # after the rules of algebra, which know the exact functions
    *FUSED,
)

LEVELS = (
    LEVEL_0,
    LEVEL_1,
    LEVEL_2,
    LEVEL_3,
    LEVEL_4,
)
