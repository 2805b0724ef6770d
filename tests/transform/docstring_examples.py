"""The before -> after examples in the docstrings of passes, as programs that can be run.

    DeadCodeElimination(inline_once=True):
    let %a = exp(%x); sqrt(%a)
    ->
    sqrt(exp(%x))

    for %x: Tensor[(4), float32]

An example is a paragraph with a line `->`, or lines with `  ->  ` in them. Both sides are Relay
text: modules, functions or expressions. The first line may say how the pass is made, and after
` with ` in which context it runs. The types of free variables are in the next paragraph if that
begins with `for`, otherwise they are `Tensor[(2, 3), float32]`; `weights %w: …` are named by the
attribute `Weights` of main, and `constant %c: …` are constants.

The result is compared as text, token by token. `…` matches anything with balanced brackets, types
may be omitted, and variables may have other names. A graph binding `%0 = …;` that is used once is
the same as its value in the place of its use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import relay
from relay import transform
from relay.target import Target

DEFAULT = "Tensor[(2, 3), float32]"
TOKEN = re.compile(
    r"""/\*.*?\*/|"[^"]*"|meta\[relay\.Constant\]\[\d+\]|…|->|=>"""
    r"""|%\d+|[%@]?[A-Za-z_][\w.]*\w|[%@]?[A-Za-z_]|-?\d[\w.]*(?:e-\w+)?|\S""",
    re.DOTALL,
)
TYPED = re.compile(
    r"(weights |constant )?(%[\w.]+(?:, %[\w.]+)*): (Tensor\[\([^)]*\), \w+\]|\w+\d+|bool)"
)
OPEN, CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class Example:
    """One before -> after, with how to make the pass and the types of free variables."""

    make: str
    before: str
    after: str
    types: dict[str, str]
    weights: tuple[str, ...]
    constants: tuple[str, ...]


def examples(docstring: str, name: str) -> Iterator[Example]:
    """The examples in a docstring of the pass `name`."""
    paragraphs = docstring.split("\n\n")
    for paragraph, following in zip(paragraphs, [*paragraphs[1:], ""], strict=True):
        lines = paragraph.splitlines()
        make = f"{name}()"
        if re.fullmatch(r"[A-Z]\w+\(.*:", lines[0] if lines else ""):
            make, lines = lines[0][:-1], lines[1:]
        pairs = [tuple(line.split("  ->  ")) for line in lines if "  ->  " in line]
        if "->" in lines:
            cut = lines.index("->")
            pairs = [("\n".join(lines[:cut]), "\n".join(lines[cut + 1 :]))]
        found = TYPED.findall(following) if following.startswith("for ") else []
        typed = [(mark, var[1:], ty) for mark, names, ty in found for var in names.split(", ")]
        for before, after in pairs:
            yield Example(
                make,
                before,
                after,
                {var: ty for _, var, ty in typed},
                tuple(var for mark, var, _ in typed if mark == "weights "),
                tuple(var for mark, var, _ in typed if mark == "constant "),
            )


def run(example: Example) -> relay.IRModule:
    """What the pass makes of the program."""
    made, _, around = example.make.partition(" with ")
    names = {name: getattr(transform, name) for name in transform.__all__}
    names |= {**vars(relay.dataflow_pattern), "Target": Target}
    table = [_constant(example.types[name]) for name in example.constants]
    module = relay.parse(_module_text(example), init_meta_table={"relay.Constant": table})
    context = eval(around, names) if around else transform.PassContext()
    with context:
        return eval(made, names)(module)


def _constant(ty: str) -> relay.Constant:
    """Positive elements."""
    shape, dtype = re.fullmatch(r"Tensor\[\(([^)]*)\), (\w+)\]", ty).groups()
    extents = tuple(int(extent) for extent in shape.split(",") if extent.strip())
    elements = np.random.default_rng(0).uniform(1, 9, extents)
    return relay.const(elements.astype(dtype), dtype)


def _module_text(example: Example) -> str:
    text = example.before
    for index, name in enumerate(example.constants):
        text = re.sub(rf"%{re.escape(name)}(?![\w.])", f"meta[relay.Constant][{index}]", text)
    if _is_module(text):
        return text
    if _is_function(text):
        return f"def @main{text.strip()[2:]}"
    params = [f"%{name}: {example.types.get(name, DEFAULT)}" for name in _free(tokens(text))]
    if example.weights:
        listed = ", ".join(f'"{name}"' for name in example.weights)
        params.append(f"Weights=[{listed}]")
    return f"def @main({', '.join(params)}) {{ {text} }}"


def _is_module(text: str) -> bool:
    return re.match(r"\s*(def|type|extern|import)\b", text) is not None


def _is_function(text: str) -> bool:
    found = tokens(text)
    return found[0] == "fn" and _end(found, found.index("{")) == len(found)


def _free(found: list[str]) -> list[str]:
    """The variables that a text does not bind, in the order of their first use."""
    bound = {found[i + 1] for i, token in enumerate(found[:-1]) if token == "let"}
    bound |= {token for token, after in pairwise(found) if after in "=:"}
    for start, token in enumerate(found):
        if token == "fn":
            opened = found.index("(", start)
            bound |= set(found[opened : _end(found, opened)])
    return [t[1:] for t in dict.fromkeys(found) if t.startswith("%") and t not in bound]


# --- comparing texts -----------------------------------------------------------------------------


def matches(example: Example, result: relay.IRModule) -> bool:
    """Whether the result is what the example says."""
    made = definitions(result.astext(show_meta_data=False))
    functions = [name for name in made if name.startswith("@")]
    if _is_module(example.after):
        wanted = definitions(example.after)
        return wanted.keys() == made.keys() and all(_match(wanted[n], made[n]) for n in wanted)
    if _is_function(example.after):
        return functions == ["@main"] and _match(_inlined(tokens(example.after))[1:], made["@main"])
    body = made["@main"]
    start = body.index("{", _end(body, body.index("(")))
    return functions == ["@main"] and _match(_inlined(tokens(example.after)), body[start + 1 : -1])


def definitions(text: str) -> dict[str, list[str]]:
    """The functions and types of a module, by name, each as tokens from behind its name on."""
    found = tokens(text)
    starts = [i for i, t in enumerate(found) if t in ("def", "type") and _is_outer(found, i)]
    ends = [*starts[1:], len(found)]
    return {
        found[start + 1]: _inlined(found[start + 2 : end])
        for start, end in zip(starts, ends, strict=True)
    }


def tokens(text: str) -> list[str]:
    found = [t for t in TOKEN.findall(text) if not t.startswith("/*") and t != "extern"]
    if found[:1] == ["#"]:  # the version
        found = found[found.index("]") + 1 :]
    # a comma behind the last of several is layout
    return [t for t, after in zip(found, [*found[1:], ""], strict=True) if (t, after) not in LAYOUT]


LAYOUT = {(",", bracket) for bracket in CLOSE}


def _is_outer(found: list[str], index: int) -> bool:
    before = found[:index]
    return sum(t in OPEN for t in before) == sum(t in CLOSE for t in before)


def _inlined(found: list[str]) -> list[str]:
    """The text with `%0 = …;` in the place of its use where there is one use."""
    place = 0
    while place < len(found) - 1:
        name = found[place]
        if re.fullmatch(r"%\d+", name) and found[place + 1] == "=":
            end = _statement_end(found, place)
            value, rest = found[place + 2 : end], found[end + 1 :]
            if rest.count(name) == 1:
                used = rest.index(name)
                found = [*found[:place], *rest[:used], *value, *rest[used + 1 :]]
                continue
        place += 1
    return found


def _statement_end(found: list[str], place: int) -> int:
    while found[place] != ";":
        place = _end(found, place) if found[place] in OPEN else place + 1
    return place


def _end(found: list[str], place: int) -> int:
    """The place behind the bracket that closes the one at `place`."""
    depth = 0
    for index in range(place, len(found)):
        depth += (found[index] in OPEN) - (found[index] in CLOSE)
        if depth == 0:
            return index + 1
    raise ValueError(f"a bracket is not closed: {' '.join(found)}")


def _match(
    wanted: list[str], made: list[str], i: int = 0, j: int = 0, names: dict[str, str] | None = None
) -> bool:
    names = {} if names is None else names
    while i < len(wanted):
        if j < len(made) and made[j] in (":", "->") and wanted[i] != made[j]:
            j = _type_end(made, j)
        elif wanted[i] == "…":
            return any(_match(wanted, made, i + 1, k, dict(names)) for k in _balanced(made, j))
        elif wanted[i : i + 2] == [",", "…"] and _match(wanted, made, i + 2, j, dict(names)):
            return True
        elif j < len(made) and _is_same(wanted[i], made[j], names):
            i, j = i + 1, j + 1
        else:
            return False
    return j == len(made)


def _balanced(made: list[str], j: int) -> Iterator[int]:
    """The places up to which a text from `j` on has balanced brackets."""
    while True:
        yield j
        if j == len(made) or made[j] in CLOSE:
            return
        j = _end(made, j) if made[j] in OPEN else j + 1


def _type_end(made: list[str], j: int) -> int:
    """The place behind a type that begins at `j` with `:` or `->`."""
    is_result = made[j] == "->"
    while j < len(made) and made[j] not in ("{" if is_result else (",", "=", ")", "]", "}", ";")):
        j = _end(made, j) if made[j] in OPEN else j + 1
    return j


def _is_same(wanted: str, made: str, names: dict[str, Any]) -> bool:
    if wanted.startswith("%") and made.startswith(("%", "meta")):
        known = names.setdefault(wanted, made), names.setdefault(f"result {made}", wanted)
        return known == (made, wanted)
    if wanted.startswith('"') and "…" in wanted:
        return re.fullmatch(re.escape(wanted).replace("…", ".*"), made) is not None
    return wanted == made
