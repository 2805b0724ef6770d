"""GPU architectures, and what code generation has to know of them."""

from __future__ import annotations

from relay.errors import TargetError, did_you_mean
from relay.immutable import frozen


@frozen
class Architecture:
    """A generation of GPUs."""

    name: str  # "sm_90"
    capability: int  # 90
    shared_memory: int  # bytes that one program may use at most
    multiprocessors: int  # of the usual device
    dependent_launch: bool  # a kernel may start before the one it waits for has ended

    def runs_on(self, capability: int) -> bool:
        """Whether a device can run its machine code: one of the same generation, not older."""
        return self.capability // 10 == capability // 10 and self.capability <= capability


ARCHITECTURES = {
    each.name: each
    for each in (
        Architecture("sm_80", 80, 163 << 10, 108, False),
        Architecture("sm_86", 86, 99 << 10, 84, False),
        Architecture("sm_89", 89, 99 << 10, 128, False),
        Architecture("sm_90", 90, 227 << 10, 132, True),
        Architecture("sm_100", 100, 227 << 10, 148, True),
        Architecture("sm_120", 120, 99 << 10, 170, True),
    )
}


def architecture(name: str) -> Architecture:
    """The architecture of that name, or an error."""
    if name in ARCHITECTURES:
        return ARCHITECTURES[name]
    raise TargetError.of(
        f"there is no architecture `{name}`",
        expected=", ".join(ARCHITECTURES),
        found=name,
        hint=did_you_mean(name, ARCHITECTURES),
    )


def of_capability(major: int, minor: int) -> Architecture | None:
    """The newest known architecture whose code runs on a device of that compute capability."""
    wanted = 10 * major + minor
    fitting = [one for one in ARCHITECTURES.values() if one.runs_on(wanted)]
    return max(fitting, key=lambda one: one.capability, default=None)
