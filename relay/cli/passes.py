"""The spelling of passes on the command line.

    fold-constant,dead-code-elimination(inline_once=True)

A pass is called like its file, with dashes, or like its class; options are literals of Python.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from relay import transform
from relay.errors import PassError, RelayError, did_you_mean
from relay.ir.module import IRModule
from relay.transform import Pass, PassInfo, PassInstrument, catalogue

ALL = "all"


def passes_of(text: str) -> list[Any]:
    """The passes of a list of names with options."""
    return [_pass(item) for item in _items(text)]


def spelling(name: str) -> str:
    """`FoldConstant` -> `fold-constant`"""
    return catalogue.file_name(name).replace("_", "-")


def known() -> dict[str, type]:
    """The class of each pass, by its spelling."""
    found = {name: getattr(transform, name) for name in catalogue.exports()}
    return {
        spelling(name): one
        for name, one in found.items()
        if isinstance(one, type) and issubclass(one, Pass)
    }


@dataclass
class Printing(PassInstrument):
    """Prints the program to stderr `before` or `after` some passes; None are all."""

    when: str
    names: Collection[str] | None

    @staticmethod
    def of(when: str, text: str | None) -> Printing:
        """For a list of passes, or `all`."""
        if text == ALL:
            return Printing(when, None)
        return Printing(when, [one.name for one in passes_of(text)] if text else [])

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._print("before", mod, info)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._print("after", mod, info)

    def _print(self, when: str, mod: IRModule, info: PassInfo) -> None:
        if when == self.when and (self.names is None or info.name in self.names):
            print(f"// {when} {spelling(info.name)}\n{mod}", file=sys.stderr)


def _items(text: str) -> Iterator[str]:
    """The parts between commas outside of parentheses."""
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _pass(item: str) -> Any:
    name, parenthesis, _ = item.partition("(")
    name = name.strip()
    passes = known()
    kind = passes.get(name) or passes.get(spelling(name))
    if kind is None:
        hint = did_you_mean(name, passes) or "`relay opt --list` names them all"
        raise PassError(f"there is no pass `{name}`; {hint}")
    args, options = _arguments(item[len(name) :].strip()) if parenthesis else ((), {})
    try:
        return kind(*args, **options)
    except TypeError as error:
        raise PassError(f"`{item}`: {error}") from None


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`(1, x=True)` -> (1,), {"x": True}"""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError(text)
        args = tuple(ast.literal_eval(arg) for arg in call.args)
        named = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords if k.arg}
        if len(named) < len(call.keywords):
            raise ValueError(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RelayError(
            f"`{text}` are no options; write (name=value, …), values as in Python"
        ) from None
    return args, named
