"""Compiled straight-line programs by the model they are compiled from.

`relay.cache.kernels` spares making kernels, once passes have found out which. Most of the time that
is left goes into these passes; so what comes of them is kept too, the program and the code of its
kernels, by the text of the model and all else it depends on: its constants, the names and types of
its weights, the target, the options, the operators, and this compiler itself.

Only straight-line code is kept, and only where it does not bring much of its own: what is folded
into large constants is better computed again than kept for every model a second time. Weights that
are given by name are not part of a program. Where passes are watched, or are others than usual,
they run.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from relay import nd, tree
from relay.cache.fingerprint import fingerprint, home
from relay.cache.objects import key_of
from relay.cache.store import Cache
from relay.cache.tuned import Tuned
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Syntax
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.lower import stored
from relay.op.opdef import OpDef, records
from relay.op.tensor.index_checks import check_indices
from relay.program.program import Program
from relay.program.text import parse, to_text
from relay.safetensors import load_param_dict, save_param_dict
from relay.target.target import Target
from relay.transform.context import PassContext

# Bytes of constants that a program may bring along.
MOST: Final = 1 << 20
# Where the functions of the operators come from.
HOMES: Final = frozenset({"relay", "numpy"})


@frozen
class Stored:
    """A program as it was compiled: with the code of its kernels, and its own constants."""

    program: Program
    objects: tuple[bytes, ...]
    constants: dict[str, nd.NDArray]


class ProgramCache:
    """Finds and keeps what models are compiled to, for one target and one set of options."""

    def __init__(self, cache: Cache, target: Target, options: Sequence[Any]) -> None:
        self.cache = cache
        self.target = target
        self.options = tuple(options)

    def key(self, module: IRModule, weights: Mapping[str, nd.NDArray]) -> str | None:
        """The key of a model; None where its program is not cached."""
        context = PassContext.current()
        watched = (
            context.instruments or context.config or context.disabled_pass or context.required_pass
        )
        if self.cache.path is None or watched or not _usual_operators():
            return None
        if _constant_bytes(module) > MOST or any(map(is_foreign, module.functions.values())):
            return None
        known = [(name, array.shape, array.dtype) for name, array in weights.items()]
        parts = (
            "program",
            fingerprint(),
            repr((self.options, context.opt_level, known)),
            Tuned.of(self.cache).stamp,
            repr(_facts()),
            module.astext(),
            repr(_places(module)),
        )
        return key_of(parts, self.target)

    def get(self, key: str | None) -> Stored | None:
        data = None if key is None else self.cache.get(key)
        return None if data is None else _from_plain(stored.unpacked(data))

    def put(self, key: str | None, made: Stored) -> None:
        if key is not None and sum(array.array.nbytes for array in made.constants.values()) <= MOST:
            self.cache.put(key, stored.packed(_to_plain(made)))


# --- what it depends on


def _constant_bytes(module: IRModule) -> int:
    """The size of a model's constants in bytes."""
    roots: list[Syntax] = list(module.functions.values())
    nodes = (node for root in roots for node in tree.postorder(root))
    return sum(node.data.array.nbytes for node in nodes if isinstance(node, Constant))


def _places(module: IRModule) -> list[str]:
    """Where a run may end with an error that names the place: text does not say it."""
    roots: list[Syntax] = list(module.functions.values())
    nodes = (node for root in roots for node in tree.postorder(root))
    return [str(node.span) for node in nodes if isinstance(node, Call) and node.op is check_indices]


def _parts(op: OpDef) -> list[Any]:
    """The functions of an operator, and what was attached to it."""
    attached = [(key, value) for key, (_, value) in op.extras.items()]
    own = [op.relation, op.reference, op.compute, op.sign, op.layout]
    return [*own, *(part for one in attached for part in one)]


def _usual_operators() -> bool:
    """Whether all operators are as this package has them, and not as someone else does."""
    return all(
        not callable(one) or home(one).partition(".")[0] in HOMES
        for op in records()
        for one in _parts(op)
    )


def _facts() -> list[tuple[Any, ...]]:
    """What may be set of an operator from outside; functions by their names."""
    return [
        (
            *(
                op.name,
                int(op.fusion),
                op.stateful,
                op.traits.value,
                int(op.precision or 0),
                op.cost,
            ),
            *(op.identity, op.row_reductions, op.repeatable),
            *(op.approximates, op.quantizes),
            [_name(one) for one in _parts(op)],
        )
        for op in records()
    ]


def _name(part: Any) -> str:
    return f"{home(part)}.{part.__qualname__}" if hasattr(part, "__qualname__") else repr(part)


# --- as bytes


def _to_plain(made: Stored) -> dict[str, Any]:
    return {
        "program": to_text(made.program),
        "kernels": {kernel.name: kernel.ir for kernel in made.program.kernels},
        "objects": [b64encode(data).decode() for data in made.objects],
        "constants": b64encode(save_param_dict(made.constants)).decode(),
    }


def _from_plain(given: dict[str, Any]) -> Stored:
    program = parse(given["program"])
    kernels = tuple(replace(one, ir=given["kernels"][one.name]) for one in program.kernels)
    return Stored(
        replace(program, kernels=kernels),
        tuple(map(b64decode, given["objects"])),
        load_param_dict(b64decode(given["constants"])),
    )
