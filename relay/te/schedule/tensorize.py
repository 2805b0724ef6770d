"""The innermost loop of a reduction as one machine instruction."""

from __future__ import annotations

from dataclasses import replace

from relay.errors import RelayError
from relay.te.instruction import Instruction
from relay.te.schedule.stages import Schedule


def tensorize(s: Schedule, stage: str, loop: str, instruction: Instruction) -> Schedule:
    """Replace the innermost loop by one machine instruction.

    for t in 4: c[i] = c[i] + int32(a[k*4 + t]) * int32(b[k*4 + t, i])
      ->   c[i] = dot4(c[i], a[k*4], …, a[k*4 + 3], b[k*4, i], …, b[k*4 + 3, i])

    If the reduction ends inside the loop, its last steps are done one by one.
    """
    found = s[stage]
    old = found.loop(loop)
    reduction = found.computation.reduction
    if reduction is None or not old.reduces:
        raise RelayError(f"loop `{loop}` of stage `{stage}` reduces nothing")
    if found.loops[-1] is not old:
        raise RelayError(f"loop `{loop}` is not the innermost of stage `{stage}`")
    if old.count != instruction.steps:
        raise RelayError(
            f"loop `{loop}` runs {old.count} times, `{instruction.name}` does {instruction.steps}"
        )
    if instruction.match(reduction) is None:
        raise RelayError(
            f"`{reduction!r}` in stage `{stage}` is not of the form of `{instruction.name}`, "
            f"`{instruction.reduction!r}`"
        )
    changed = (*found.loops[:-1], replace(old, instruction=instruction))
    return s.with_stage(replace(found, loops=changed))
