"""Expressions for sizes in a file. torch evaluates them as Python, so only these get there:

    Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))
    expression:  NAME(argument, …)   NAME   NUMBER
    argument:    expression   'NAME'   NAME=True   NAME=False

The names are those of SymPy's and torch's functions on integers.
"""

from __future__ import annotations

import re

from relay.errors import FrontendError

LONGEST = 4000  # characters
DEEPEST = 60
_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>-?\d{1,19})|(?P<mark>[(),=']))", re.A)
SYMBOL = re.compile(r"[a-z]+\d+", re.A)
FACTS = {"positive", "integer", "nonnegative", "negative", "zero", "real", "finite"}
FUNCTIONS = {
    *("Symbol", "Integer", "Add", "Mul", "Pow", "Max", "Min", "Abs"),
    *("FloorDiv", "CleanDiv", "CeilDiv", "Mod", "PythonMod", "ModularIndexing"),
    *("Equality", "Unequality", "StrictLessThan", "LessThan", "StrictGreaterThan"),
    *("GreaterThan", "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not"),
    *("IntTrueDiv", "ToFloat", "FloorToInt", "CeilToInt", "TruncToInt"),
}
CONSTANTS = {"true", "false"}


def check(text: object) -> None:
    """Refuse what is no expression."""
    if not isinstance(text, str) or len(text) > LONGEST or not _is_expression(_tokens(text)):
        message = "the file has what is no expression for a size"
        raise FrontendError.of(message, None, "sums and products of sizes", str(text)[:80])


def _tokens(text: str) -> list[tuple[str, str]]:
    """The kinds and texts of tokens; nothing if there is anything else."""
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return []
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        place = match.end()
    return found


def _is_expression(tokens: list[tuple[str, str]]) -> bool:
    """Whether tokens are one expression: every closed call is replaced by its value."""
    # an open call: its function, and its arguments up to now
    calls: list[tuple[str, list[tuple[str, str]]]] = [("", [])]
    texts, place = [text for _, text in tokens], 0
    while place < len(tokens):
        kind, text = tokens[place]
        function, arguments = calls[-1]
        if kind == "name" and texts[place + 1 : place + 2] == ["("]:
            if text not in FUNCTIONS or len(calls) > DEEPEST:
                return False
            calls.append((text, []))
            place += 2
            continue
        if text == ")" and len(calls) > 1:
            calls.pop()
            if not _is_call(function, arguments):
                return False
            calls[-1][1].append(_result(function, arguments))
            place += 1
        elif kind == "name" and texts[place + 1 : place + 2] == ["="]:
            if function != "Symbol" or text not in FACTS:
                return False
            if texts[place + 2 : place + 3] not in (["True"], ["False"]):
                return False
            place += 3
        elif text == "'" and texts[place + 2 : place + 3] == ["'"]:
            arguments.append(("symbol", texts[place + 1]))
            place += 3
        elif kind == "number":
            arguments.append(("number", text))
            place += 1
        elif kind == "name" and (text in CONSTANTS or SYMBOL.fullmatch(text)):
            arguments.append(("size", text))
            place += 1
        else:
            return False
        following = texts[place : place + 1]
        if following == [","] and len(calls) > 1:
            place += 1
        elif following not in ([")"], []):
            return False
    return len(calls) == 1 and len(calls[0][1]) == 1


def _is_call(function: str, arguments: list[tuple[str, str]]) -> bool:
    """Whether a function may be applied to arguments: no powers that are too large to compute."""
    kinds = [kind for kind, _ in arguments]
    if function == "Symbol":
        return kinds == ["symbol"] and SYMBOL.fullmatch(arguments[0][1]) is not None
    if function == "Integer":
        return kinds == ["number"]
    if "symbol" in kinds or not arguments:
        return False
    # powers of powers may be too large to compute
    return function != "Pow" or (kinds[0] != "power" and arguments[1:] in _POWERS)


_POWERS = [[("number", str(one))] for one in (1, 2, 3, 4)]


def _result(function: str, arguments: list[tuple[str, str]]) -> tuple[str, str]:
    """What is known of the value of a call."""
    if function == "Integer":
        return arguments[0]
    if function == "Pow" or any(kind == "power" for kind, _ in arguments):
        return "power", function
    return "call", function
