"""The passes of whole programs, as differences to straight-line code."""

from __future__ import annotations

from relay.pipeline.levels import Passes, levels
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
from relay.transform.gradients.collect_outer_products import CollectOuterProducts
from relay.transform.infer_type import InferType
from relay.transform.simplify.dead_code_elimination import DeadCodeElimination
from relay.transform.simplify.dynamic_to_static import DynamicToStatic

# Lambda lifting and monomorphization.
FIRST_ORDER: Passes = (
    RemoveUnusedFunctions(),
    InferType(),
    InlineComposites(),
    EtaExpand(expand_constructor=True, expand_operator=True),  # then they are only called
    ToBasicBlockNormalForm(),  # functions must not share values with their surroundings
    LambdaLift(),
    Monomorphize(),  # after lifting: only global functions are copied
)
# Removes calls and function values.
CALLED: Passes = (
    RemoveUnusedFunctions(),
    InferType(),
    CollectOuterProducts(),  # while gradients are written as differentiation wrote them
    *FIRST_ORDER,
    AutoInline(),  # before specializing: results of small functions are known to callers
    SpecializeCalls(),
    DeadCodeElimination(),  # dead closures
    RemoveUnusedFunctions(),  # and their functions
    AutoInline(),  # former function values are called by name, often from one place
    BindConstantArguments(),  # before folding
    DynamicToStatic(),  # after inlining, since calls hide constants
)
# A-normal form of fused code.
IN_ORDER: Passes = (
    ToANormalForm(),  # after fusion, which leaves fewer values
    LambdaLift(),  # delayed computations are functions
    InferType(),
)
# Weights are not lifted: fusion puts computations on weights into separate kernels, which lowering
# runs once.
WHOLE_PROGRAM = levels(
    FIRST_ORDER,
    FIRST_ORDER,
    CALLED,
    before_scales=(DeadCodeElimination(inline_once=True),),  # scales do not propagate through `let`
    last=IN_ORDER,
)
