"""Which passes a program goes through before it is lowered, by level.

    mod = relay.pipeline.passes(2)(mod)
    mod, params = relay.optimize(mod, target, params)
    mod = relay.pipeline.whole_program(2)(mod)

A level is a tuple of passes in the order they run; the reason for each stands beside it. All have
FuseOps, after which every operator is in a primitive function and is compiled as one kernel.

Straight-line code over tensors goes through `passes`, every other program through `whole_program`,
which leaves it in the form of `relay.analysis.check_lowerable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relay.errors import PassError
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name
from relay.transform.auto_inline import AutoInline
from relay.transform.base import Pass
from relay.transform.bind_constant_arguments import BindConstantArguments
from relay.transform.context import PassContext
from relay.transform.dead_code_elimination import DeadCodeElimination
from relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from relay.transform.eta_expand import EtaExpand
from relay.transform.fold_constant import FoldConstant
from relay.transform.fuse_ops import FuseOps
from relay.transform.infer_type import InferType
from relay.transform.lambda_lift import LambdaLift
from relay.transform.lift_weights import LiftWeights
from relay.transform.monomorphize import Monomorphize
from relay.transform.remove_unused_functions import RemoveUnusedFunctions
from relay.transform.sequential import Sequential
from relay.transform.simplify_inference import SimplifyInference
from relay.transform.specialize_calls import SpecializeCalls
from relay.transform.to_a_normal_form import ToANormalForm
from relay.transform.to_basic_block_normal_form import ToBasicBlockNormalForm

# As written: for debugging, and to compare the other levels with.
LEVEL_0: tuple[Pass, ...] = (
    InferType(),  # lowering needs to know every shape
    LiftWeights(),  # before fusion, which would mix what runs once with what runs in every call
    ToBasicBlockNormalForm(),  # every branch is lowered on its own
    FuseOps(fuse_opt_level=0),  # one operator is one kernel
)

# No work that need not be done at all, or not in every run.
LEVEL_1: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),  # first: what main does not reach costs the others time
    InferType(),
    SimplifyInference(),  # before folding: scale and shift of a batch_norm are constants then
    FoldConstant(),
    DeadCodeElimination(),  # sweeps what the two above left behind
    LiftWeights(),
    ToBasicBlockNormalForm(),
    FuseOps(fuse_opt_level=0),
)

# No work done twice, and nothing written to memory only to be read back at once.
LEVEL_2: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),
    InferType(),
    SimplifyInference(),
    FoldConstant(),
    EliminateCommonSubexpr(),  # after folding: constants that turn out equal make more equal
    DeadCodeElimination(inline_once=True),  # what has one use joins the graph that fusion sees
    LiftWeights(),
    ToBasicBlockNormalForm(),  # after merging, by which a branch may use what is outside
    FuseOps(fuse_opt_level=2),  # last: fused functions are opaque to the others
)

# No pass here takes long enough, or changes results enough, to be asked for by name.
LEVEL_3 = LEVEL_2
LEVEL_4 = LEVEL_3

LEVELS = (LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_4)

# What makes all functions functions of the module, and leaves no type parameters.
FIRST_ORDER: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),
    InferType(),
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

WHOLE_PROGRAM_0: tuple[Pass, ...] = (
    *FIRST_ORDER,
    FuseOps(fuse_opt_level=0),
    *IN_ORDER,
)

WHOLE_PROGRAM_1: tuple[Pass, ...] = (
    *FIRST_ORDER,
    SimplifyInference(),
    FoldConstant(),
    DeadCodeElimination(),
    ToBasicBlockNormalForm(),
    FuseOps(fuse_opt_level=0),
    *IN_ORDER,
)

# No call that need not be made, and no function that need not be a value.
WHOLE_PROGRAM_2: tuple[Pass, ...] = (
    *FIRST_ORDER,
    AutoInline(),  # before specializing: what a small function returns is known to its callers
    SpecializeCalls(),
    DeadCodeElimination(),  # closures that nobody calls any more
    RemoveUnusedFunctions(),  # and the functions that they made necessary
    AutoInline(),  # what was called as a value is called by name now, often from one place
    BindConstantArguments(),  # before folding, which sees the constants then
    SimplifyInference(),
    FoldConstant(),
    EliminateCommonSubexpr(),
    DeadCodeElimination(inline_once=True),
    ToBasicBlockNormalForm(),  # after merging, by which a branch may use what is outside
    FuseOps(fuse_opt_level=2),
    *IN_ORDER,
)

WHOLE_PROGRAM_3 = WHOLE_PROGRAM_2
WHOLE_PROGRAM_4 = WHOLE_PROGRAM_3

WHOLE_PROGRAM = (
    WHOLE_PROGRAM_0,
    WHOLE_PROGRAM_1,
    WHOLE_PROGRAM_2,
    WHOLE_PROGRAM_3,
    WHOLE_PROGRAM_4,
)


@dataclass(frozen=True)
class Pipeline(Sequential):
    """Runs all its passes but those that the PassContext disables.

    The passes were chosen for a level already, so the level of the context does not count.
    """

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        for member in self.passes:
            if member.name not in context.disabled_pass:
                module = member(module)
        return module


def passes(level: int) -> Sequential:
    """The passes of a level from 0 to 4, as one."""
    return Pipeline(LEVELS[_checked(level)], name=f"level {level}")


def whole_program(level: int) -> Sequential:
    """The passes of a level from 0 to 4 for programs with functions, data and branches."""
    return Pipeline(WHOLE_PROGRAM[_checked(level)], name=f"whole program, level {level}")


def _checked(level: int) -> int:
    if isinstance(level, bool) or not isinstance(level, int) or level not in range(len(LEVELS)):
        raise PassError(f"levels go from 0 to {len(LEVELS) - 1}, found {level!r}")
    return level


def optimize(
    mod: IRModule | Expr, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The program after the passes of the PassContext's level, with `params` bound in `main`.

    Also gives those of the parameters that `main` does not have. No pass asks about the target.
    """
    module = IRModule.from_expr(mod) if isinstance(mod, Expr) else mod.copy()
    given = dict(params or {})
    if given:
        main = module["main"]
        module["main"] = bind_params_by_name(main, given)
        for param in main.params:
            given.pop(param.name_hint, None)
    level = min(max(PassContext.current().opt_level, 0), len(LEVELS) - 1)
    return passes(level)(module), given
