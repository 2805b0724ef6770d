"""Decides whether a call of a known function is unfolded or stays a call.

A call is unfolded, tentatively. If the function is called again inside of it, that call is unfolded
too as long as it is certain to be reached, or some known data or a known counter gets smaller:

    @pow(%x, 5)        if (5 == 0) is decided at once, and so on: five unfoldings
    @pow(%x, %n)       calls itself in a branch of an `if` that the run decides

In the second case, and when the function has no fuel left, the unfolding is given up, and the call
stays. Every unfolding takes one unit of the fuel of its function, whether it is given up or not, so
the number of unfoldings is limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relay.ir import expr as ir
from relay.nd import NDArray
from relay.transform.partial.static_values import Closure, Fields, Value


class GiveUp(Exception):
    """The unfolding of a call is given up: it travels to where that began."""

    def __init__(self, unfolding: Unfolding) -> None:
        super().__init__()
        self.unfolding = unfolding


@dataclass(eq=False, slots=True)
class Unfolding:
    """A call that is unfolded, or a residual function whose body is evaluated."""

    args: Sequence[Value]
    undecided: int  # how many branchings and residual functions are around it
    may_give_up: bool = True


@dataclass(eq=False)
class Unfoldings:
    """The unfoldings that are under way, and the fuel of every function."""

    fuel: int
    undecided: int = 0  # around the current place
    ran_out: bool = False
    _left: dict[int, int] = field(default_factory=dict)
    _open: dict[int, list[Unfolding]] = field(default_factory=dict)
    _given_up: set[object] = field(default_factory=set)

    def begin(self, function: ir.Function, args: Sequence[Value]) -> Unfolding | None:
        """The unfolding of a call; None if it stays one."""
        key = id(function)
        within = self._open.setdefault(key, [])
        if _kind(function, args) in self._given_up:
            return None
        if self._left.setdefault(key, self.fuel) <= 0:
            self.ran_out = True
            self._give_up(within)
            return None
        is_decided = not within or within[-1].undecided == self.undecided
        if not is_decided and not _is_smaller(args, within[-1].args):
            self._give_up(within[-1:])
            return None
        self._left[key] -= 1
        made = Unfolding(args, self.undecided)
        within.append(made)
        return made

    def enter(self, function: ir.Function, args: Sequence[Value]) -> None:
        """Begin with the body of a function that stays."""
        self._open.setdefault(id(function), []).append(Unfolding(args, self.undecided, False))

    def end(self, function: ir.Function) -> None:
        self._open[id(function)].pop()

    def note_given_up(self, function: ir.Function, args: Sequence[Value]) -> None:
        """Calls like this one are not tried again."""
        self._given_up.add(_kind(function, args))

    def _give_up(self, within: Sequence[Unfolding]) -> None:
        """Give up the outermost unfolding that may be."""
        for one in within:
            if one.may_give_up:
                raise GiveUp(one)


def _is_smaller(args: Sequence[Value], before: Sequence[Value]) -> bool:
    """Whether some known data, or a known counter, is smaller than it was."""
    return any(_is_less(one.static, other.static) for one, other in zip(args, before, strict=True))


def _is_less(one: object, other: object) -> bool:
    if isinstance(one, Fields) and isinstance(other, Fields):
        return one.constructor is not None and one.size < other.size
    if isinstance(one, NDArray) and isinstance(other, NDArray):
        both = (one.array, other.array)
        if any(array.shape != () or array.dtype.kind not in "iu" for array in both):
            return False
        return 0 <= int(both[0]) < int(both[1])
    return False


def _kind(function: ir.Function, args: Sequence[Value]) -> object:
    """An abstraction of the known arguments, by which calls are compared."""
    return (id(function), *(_what_is_known(value) for value in args))


def _what_is_known(value: Value) -> object:
    match value.static:
        case Closure(function=function):
            return id(function)
        case Fields(constructor=None, fields=fields):
            return tuple(type(field.static) for field in fields)
        case static:
            return type(static)
