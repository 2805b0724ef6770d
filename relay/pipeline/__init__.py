"""The optimization pipelines: which passes run before lowering, by level.

    mod = relay.pipeline.passes(2)(mod)
    mod, params = relay.optimize(mod, target, params)
    mod = relay.pipeline.whole_program(2)(mod)

A level is a tuple of passes, each with its reason. Passes that the PassContext disables do not run,
and those it requires do, at their place in the highest level. All levels end with FuseOps, after
which every operator is in a primitive function, which is compiled as one kernel.

Straight-line code over tensors goes through `passes`, other programs through `whole_program`, which
establishes `relay.analysis.check_lowerable`; `typed` runs before, to tell them apart. `levels.py`
has the list of both, `whole.py` the passes of whole programs only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name
from relay.transform.base import Pass
from relay.transform.context import PassContext
from relay.transform.sequential import Sequential

LEVELS = range(5)
EXACT = 3  # the last level without approximations of operators
ALGORITHMS = 3  # the first level that chooses algorithms


@frozen
class Pipeline(Sequential):
    """Runs its passes except those that the PassContext disables.

    The level of the context does not matter: the passes were chosen for a level. Passes of
    `others`, the highest level, run too if the context requires them.
    """

    others: Sequence[Pass] = ()

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        for member in _with_required(self.passes, self.others, context.required_pass):
            if member.name not in context.disabled_pass:
                module = _all_of(member)(module)
        return module


def _with_required(
    members: Sequence[Pass], others: Sequence[Pass], required: Collection[str]
) -> list[Pass]:
    """`members` with the missing required passes of `others`, each after the nearest of its
    predecessors there that `members` has."""
    lacking = set(required).difference(member.name for member in members)
    made = list(members)
    for number, other in enumerate(others):
        if other.name not in lacking:
            continue
        place = 0
        for before in reversed(range(number)):
            name = others[before].name
            turn = sum(one.name == name for one in others[:before])
            places = [index for index, one in enumerate(made) if one.name == name]
            if turn < len(places):
                place = places[turn] + 1
                break
        made.insert(place, other)
    return made


def _all_of(member: Pass) -> Pass:
    """The pass; a Sequential runs all its passes, whatever their levels."""
    if isinstance(member, Sequential) and not isinstance(member, Pipeline):
        return Pipeline(member.passes, name=member.name)
    return member


def typed(level: int) -> Sequential:
    """Type inference; from level 2 on dynamic dimensions that are constant become static."""
    from relay.transform.infer_type import InferType
    from relay.transform.memory.hand_over_constants import HandOverConstants
    from relay.transform.simplify.dynamic_to_static import DynamicToStatic

    # before constants are looked at: existing kernels take theirs as arguments
    members: tuple[Pass, ...] = (InferType(), HandOverConstants())
    if _checked(level) >= 2:
        members += (DynamicToStatic(),)
    return Pipeline(members, name=f"typed, level {level}")


def passes(level: int, target: Any = None) -> Sequential:
    """The passes of a level from 0 to 4, for a target or that of the settings."""
    from relay.pipeline.levels import STRAIGHT_LINE

    return _pipeline(STRAIGHT_LINE, level, target, f"level {level}")


def whole_program(level: int, target: Any = None) -> Sequential:
    """The passes of a level for whole programs, for a target or that of the settings."""
    from relay.pipeline.whole import WHOLE_PROGRAM

    return _pipeline(WHOLE_PROGRAM, level, target, f"whole program, level {level}")


def _pipeline(levels: Sequence[Sequence[Pass]], level: int, target: Any, name: str) -> Sequential:
    members, others = (_for_target(levels[n], target) for n in (_checked(level), -1))
    return Pipeline(members, name=name, others=others)


def _for_target(members: Sequence[Pass], target: Any) -> Sequence[Pass]:
    from relay.transform.layout.alter_op_layout import AlterOpLayout

    if target is None:
        return members
    return [AlterOpLayout(target) if isinstance(m, AlterOpLayout) else m for m in members]


def _checked(level: int) -> int:
    if isinstance(level, bool) or not isinstance(level, int) or level not in LEVELS:
        raise PassError(f"levels go from 0 to {len(LEVELS) - 1}, found {level!r}")
    return level


def optimize(
    mod: IRModule | Expr, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The program after the passes of the PassContext's level, with `params` bound in `main`, and
    the params that `main` does not have. Only layouts depend on the target."""
    module = mod.copy() if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    given = dict(params or {})
    if given:
        main = module["main"]
        module["main"] = bind_params_by_name(main, given)
        for param in main.params:
            given.pop(param.name_hint, None)
    level = min(max(PassContext.current().opt_level, 0), len(LEVELS) - 1)
    return passes(level, target)(module), given
