"""Calling conventions: an executable that was compiled from a model is called like the model.

    def forward(self, ids, mask=None, *, cache): …

    Convention of forward, exported with ids, {"k": …, "v": …} for cache, and no mask
        ids: tensor    mask: fixed None    cache: dict "k" "v" | tensor | tensor
        -> record "BaseModelOutput" "last_hidden_state" | tensor

It says which arguments there are, in the order of the parameters of `main`, and what becomes of the
results; it travels in the attribute `Convention` of `main`, and in files, as JSON. A call of plain
tensors is not touched by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from relay.errors import EvaluationError, RelayError, did_you_mean
from relay.executors.structure import Structure
from relay.immutable import frozen


@frozen
class Argument:
    """An argument: its name, its structure, and its place among those given by position.

    One that may be left out has a `default`, a structure without tensors.
    """

    name: str
    structure: Structure
    place: int | None = None  # None: by name only
    by_name: bool = True
    default: tuple[Any] | None = None

    def to_json(self) -> list[Any]:
        default = None if self.default is None else list(self.default)
        return [self.name, self.structure.to_json(), self.place, self.by_name, default]

    @staticmethod
    def of_json(found: Any) -> Argument:
        match found:
            case [str(name), structure, int() | None as place, bool(by_name), default]:
                if default is None or (isinstance(default, list) and len(default) == 1):
                    made = None if default is None else (default[0],)
                    return Argument(name, Structure.of_json(structure), place, by_name, made)
        raise RelayError(f"no argument of a convention: {found!r}")


@frozen
class Convention:
    """The arguments of a model, in the order of the parameters of `main`, and its result."""

    arguments: tuple[Argument, ...]
    result: Structure

    # --- calls

    def take_apart(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The tensors of a call, in the order of the parameters of `main`."""
        given: dict[str, Any] = {}
        if len(args) > len(self._by_place):
            raise self._error("too many arguments", f"{len(args)} by position")
        for argument, value in zip(self._by_place, args, strict=False):
            given[argument.name] = value
        for name, value in named.items():
            known = self._by_name.get(name)
            if known is None:
                hint = did_you_mean(name, self._by_name)
                raise self._error(f"there is no argument `{name}`", hint=hint)
            if name in given:
                raise self._error(f"argument `{name}` is given twice")
            given[name] = value
        leaves: list[Any] = []
        for argument in self.arguments:
            if argument.name in given:
                leaves += argument.structure.take_apart(given[argument.name], argument.name)
            elif argument.default is None:
                raise self._error(f"no value for argument `{argument.name}`")
            else:
                leaves += argument.structure.take_apart(argument.default[0], argument.name)
        return leaves

    def call_of(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call that these tensors are, by position and by name."""
        left = iter(leaves)
        values = {
            one.name: one.structure.put_together([next(left) for _ in one.structure.leaves])
            for one in self.arguments
        }
        args = tuple(values.pop(argument.name) for argument in self._by_place)
        return args, values

    def put_together(self, leaves: Sequence[Any]) -> Any:
        """The result of the model from those of `main`."""
        return self.result.put_together(leaves)

    @cached_property
    def plain_arguments(self) -> int | None:
        """How many tensors by position are a call, if that is all; then nothing is taken apart."""
        count = 0
        for argument in self.arguments:
            if argument.structure.is_tensor and argument.place == count:
                count += 1
            elif argument.default is None or not argument.structure.is_fixed:
                return None
        try:  # what is left out must be what it was
            self.take_apart([0] * count, {})
        except EvaluationError:
            return None
        return count

    @cached_property
    def is_plain_result(self) -> bool:
        """Whether the result is a tensor, or a tuple of tensors and nothing else."""
        first, *rest = self.result.nodes
        is_tuple = first.kind == "tuple" and len(rest) == len(first.keys)
        return self.result.is_tensor or (
            is_tuple and all(Structure((node,)).is_tensor for node in rest) and len(rest) != 1
        )

    @cached_property
    def _by_place(self) -> list[Argument]:
        found = [argument for argument in self.arguments if argument.place is not None]
        return sorted(found, key=lambda argument: argument.place or 0)

    @cached_property
    def _by_name(self) -> dict[str, Argument]:
        return {argument.name: argument for argument in self.arguments if argument.by_name}

    @property
    def signature(self) -> str:
        """The arguments as in the definition of a Python function."""
        shown = []
        rest = [argument for argument in self.arguments if argument.place is None]
        for argument in (*self._by_place, *rest):
            if argument.place is None and "*" not in shown:
                shown.append("*")
            default = "" if argument.default is None else f"={argument.default[0]!r}"
            shown.append(f"{argument.name}{default}")
        return f"({', '.join(shown)})"

    def _error(
        self, message: str, found: str | None = None, hint: str | None = None
    ) -> EvaluationError:
        return EvaluationError.of(
            message,
            expected=f"the arguments of the model: {self.signature}",
            found=found,
            hint=hint,
        )

    # --- as text

    def to_json(self) -> dict[str, Any]:
        arguments = [argument.to_json() for argument in self.arguments]
        return {"arguments": arguments, "result": self.result.to_json()}

    def to_text(self) -> str:
        """The attribute of `main`."""
        return json.dumps(self.to_json(), separators=(",", ":"))

    @staticmethod
    def of_json(found: Any) -> Convention:
        """The inverse of `to_json`; other data is refused."""
        match found:
            case {"arguments": list(arguments), "result": result}:
                made = Convention(
                    tuple(map(Argument.of_json, arguments)), Structure.of_json(result)
                )
                names = [argument.name for argument in made.arguments]
                places = [argument.place for argument in made._by_place]
                if len(set(names)) == len(names) and places == [*range(len(places))]:
                    return made
        raise RelayError("it is no calling convention")

    @staticmethod
    def of_text(text: str) -> Convention:
        """The inverse of `to_text`."""
        try:
            return Convention.of_json(json.loads(text))
        except ValueError:
            raise RelayError("it is no calling convention") from None

    def fitting(self, inputs: int, outputs: int) -> Convention:
        """Itself, for a `main` with as many tensors as it has leaves; others are refused."""
        takes = sum(len(argument.structure.leaves) for argument in self.arguments)
        gives = len(self.result.leaves)
        if (takes, gives) != (inputs, outputs):
            raise RelayError(
                f"the calling convention has {takes} arguments and {gives} results for a program "
                f"of {inputs} and {outputs}"
            )
        return self
