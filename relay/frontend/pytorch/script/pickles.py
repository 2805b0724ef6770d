"""The pickles in an archive of TorchScript, checked before torch's own reader gets them.

Its reader trusts every number in them: a storage that is declared longer than its data would be
read out of bounds. So a pickle has to be of the operations that torch writes, well formed, flat
enough to be freed without recursion, and of storages that their entries hold.
"""

from __future__ import annotations

import pickletools
from collections.abc import Mapping
from typing import Any

DEPTH = 500  # of containers in each other
# What `torch.jit.save` writes: pops, pushes and marks are those of `pickletools`.
_WRITTEN = frozenset(
    {
        *("APPEND", "APPENDS", "BINFLOAT", "BINGET", "BININT", "BININT1", "BININT2", "BINPERSID"),
        *("BINPUT", "BINSTRING", "BINUNICODE", "BUILD", "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"),
        *("GLOBAL", "LONG1", "LONG_BINGET", "LONG_BINPUT", "MARK", "NEWFALSE", "NEWOBJ", "NEWTRUE"),
        *("NONE", "PROTO", "REDUCE", "SETITEM", "SETITEMS", "SHORT_BINSTRING", "STOP", "TUPLE"),
        *("TUPLE1", "TUPLE2", "TUPLE3"),
    }
)
_WIDTHS = {
    **dict.fromkeys(("Byte", "Char", "Bool", "QInt8", "QUInt8", "Untyped", "QUInt4x2"), 1),
    **dict.fromkeys(("Half", "BFloat16", "Short"), 2),
    **dict.fromkeys(("Float", "Int", "QInt32", "ComplexHalf"), 4),
    **dict.fromkeys(("Double", "Long", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
_MARK = object()


class _Value:
    """What an operation has made, if it is of interest, and how deep it nests."""

    __slots__ = ("depth", "found")

    def __init__(self, found: Any = None, depth: int = 0) -> None:
        self.found, self.depth = found, depth


def check(data: bytes, entries: Mapping[str, int]) -> None:
    """Raise ValueError for a pickle that is not as torch writes it; `entries` are the bytes of the
    storages it may name."""
    stack: list[Any] = []
    memo: list[_Value] = []
    argument: Any
    for operation, argument, _ in pickletools.genops(data):
        name = operation.name
        if name not in _WRITTEN:
            raise ValueError(f"the operation {name}")
        if name.endswith("BINPUT"):
            if argument != len(memo) or not stack or stack[-1] is _MARK:
                raise ValueError("a value is remembered out of turn")
            memo.append(stack[-1])
            continue
        if name.endswith("BINGET"):
            if argument >= len(memo):
                raise ValueError("a value is recalled that is not there")
            stack.append(memo[argument])
            continue
        if name == "MARK":
            stack.append(_MARK)
            continue
        made = _made(name, argument, _taken(stack, operation), entries)
        if operation.stack_after:
            stack.append(made)
    if stack:
        raise ValueError("values are left over")


def _taken(stack: list[Any], operation: pickletools.OpcodeInfo) -> list[_Value]:
    """The values that an operation takes off the stack."""
    wanted = operation.stack_before
    if pickletools.markobject in wanted:
        before = wanted.index(pickletools.markobject)
        place = next((i for i in reversed(range(len(stack))) if stack[i] is _MARK), -1)
        if place < before:
            raise ValueError(f"{operation.name} without a mark")
        taken = [*stack[place - before : place], *stack[place + 1 :]]
        del stack[place - before :]
    else:
        taken = stack[len(stack) - len(wanted) :] if len(wanted) <= len(stack) else [_MARK]
        del stack[len(stack) - len(wanted) :]
    if any(one is _MARK for one in taken):
        raise ValueError(f"{operation.name} without its values")
    return taken


def _made(name: str, argument: Any, taken: list[_Value], entries: Mapping[str, int]) -> _Value:
    depth = 1 + max((one.depth for one in taken), default=-1)
    if depth > DEPTH:
        raise ValueError(f"values nest more than {DEPTH} deep")
    if name == "BINPERSID":
        _check_storage(taken[0].found, entries)
    if name.endswith("TUPLE") or name.startswith("TUPLE"):
        return _Value(tuple(one.found for one in taken) if len(taken) == 5 else None, depth)
    return _Value(argument if isinstance(argument, int | str) else None, depth)


def _check_storage(named: Any, entries: Mapping[str, int]) -> None:
    match named:
        case ("storage", str(kind), str(key), _, int(count)):
            pass
        case _:
            raise ValueError("a storage without its name")
    width = _WIDTHS.get(kind.removeprefix("torch ").removesuffix("Storage"))
    if width is None or key not in entries:
        raise ValueError(f"a {kind} that is not there")
    if not 0 <= count * width <= entries[key]:
        raise ValueError(f"a storage of {count * width} bytes in an entry of {entries[key]}")
