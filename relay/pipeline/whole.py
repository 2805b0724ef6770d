"""The passes of whole programs: functions, data, branches. What differs from straight-line code."""

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
from relay.transform.infer_type import InferType
from relay.transform.simplify.dead_code_elimination import DeadCodeElimination
from relay.transform.simplify.dynamic_to_static import DynamicToStatic

# What makes all functions functions of the module, and leaves no type parameters.
FIRST_ORDER: Passes = (
    RemoveUnusedFunctions(),
    InferType(),
    InlineComposites(),
    EtaExpand(expand_constructor=True, expand_operator=True),  # from here on they are called only
    ToBasicBlockNormalForm(),  # no function may share a computation with what is around it
    LambdaLift(),
    Monomorphize(),  # after lifting: only functions of the module have to be copied
)
# No call that need not be made, and no function that need not be a value.
CALLED: Passes = (
    *FIRST_ORDER,
    AutoInline(),  # before specializing: what a small function returns is known to its callers
    SpecializeCalls(),
    DeadCodeElimination(),  # closures that nobody calls any more
    RemoveUnusedFunctions(),  # and the functions that they made necessary
    AutoInline(),  # what was called as a value is called by name now, often from one place
    BindConstantArguments(),  # before folding, which sees the constants then
    DynamicToStatic(),  # after calls are gone, which hide constants
)
# What names every value of fused code, in the order of evaluation.
IN_ORDER: Passes = (
    ToANormalForm(),  # after fusion, which leaves fewer values
    LambdaLift(),  # a computation that waits until it is needed is a function
    InferType(),
)
# Weights are not lifted: fusion leaves what is computed from them alone in kernels of its own,
# whose results lowering keeps.
WHOLE_PROGRAM = levels(
    FIRST_ORDER,
    FIRST_ORDER,
    CALLED,
    before_scales=(DeadCodeElimination(inline_once=True),),  # scales do not go through a `let`
    last=IN_ORDER,
)
