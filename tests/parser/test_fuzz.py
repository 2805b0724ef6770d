"""Whatever the text, there is a program or a RelayError, and never anything else."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relay
from relay.errors import RelayError
from relay.ir.module import IRModule
from relay.parser.lexer import tokenize
from tests.support.looping import each
from tests.support.sampling import some_of

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*.relay"))
HEADER = '#[version = "0.0.5"]\n'
DEPTH = 2_000

# Pieces that mean something somewhere.
SNIPPETS = [
    *("(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "+", "-", "*", "/", "<", ">", "?", "%"),
    *("==", "=>", "->", "//", "/*", "*/", "#[", "#[metadata]", ".", ".0", "_", '"', "`", "\\"),
    *("let", "fn", "def", "if", "else", "type", "match", "match?", "extern", "ref", "ref_read"),
    *("free_var", "free_type_var", "True", "False", "None", "meta[relay.Constant][0]", "n"),
    *("operator(add)", "constructor(Nil)", "Shape(1)", "%x", "%0", "@main", "int32", "nn.relu"),
    *("Tensor[(1,2),int8]", "Cons", "1", "1.5f", "300i8", "inff", "1e99", "add"),
    *("\x00", "\ud800", "\u2028", "\r", "é", "🙂", "\n", " "),
]


def survives(text: str, init_module: IRModule | None = None) -> None:
    """`text` is a module, typed, or refused."""
    try:
        relay.parse(text, init_module=init_module)
    except RelayError as error:
        assert str(error)


def cut_into_tokens(text: str) -> list[str]:
    found = tokenize(text, "fuzz")
    pieces = [text[s:e] for s, e in zip(found.starts, found.ends, strict=True)]
    return [p for p in pieces if p]


def mutate(tokens: list[str], rng: random.Random) -> str:
    """A few tokens deleted, doubled, swapped, replaced or cut off."""
    changed = list(tokens)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        if not changed:
            break
        place = rng.randrange(len(changed))
        match rng.randrange(7):
            case 0:
                del changed[place]
            case 1:
                changed.insert(place, changed[place])
            case 2:
                other = rng.randrange(len(changed))
                changed[place], changed[other] = changed[other], changed[place]
            case 3:
                changed[place] = rng.choice(SNIPPETS)
            case 4:
                changed.insert(place, rng.choice(SNIPPETS))
            case 5:
                changed[place] = rng.choice(changed)
            case 6:
                end = min(len(changed), place + rng.randrange(8))
                changed[place:place] = changed[place:end]
    if rng.random() < 0.1:
        changed = changed[: rng.randrange(len(changed) + 1)]
    return " ".join(changed)


@each("path", some_of(PROGRAMS, 3, lambda path: path.name))
def test_programs_with_tokens_changed(path: Path) -> None:
    rng = random.Random(path.stem)
    tokens = cut_into_tokens(path.read_text(encoding="utf-8"))
    # the version is kept, so that something is read
    for _ in range(30):
        survives(HEADER + mutate(tokens[5:], rng))


@each("path", some_of(PROGRAMS, 3, lambda path: path.name))
def test_programs_with_characters_changed(path: Path) -> None:
    rng = random.Random(path.stem)
    text = path.read_text(encoding="utf-8")[len(HEADER) :]
    for _ in range(20):
        characters = list(text)
        for _ in range(rng.randrange(1, 4)):
            if characters:
                place = rng.randrange(len(characters))
                new = chr(rng.choice((0, 34, 96, rng.randrange(0x2100))))
                characters[place : place + rng.randrange(3)] = new
        survives(HEADER + "".join(characters))


@pytest.mark.parametrize("path", PROGRAMS[:8], ids=lambda path: path.stem)
def test_programs_cut_off_anywhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for end in range(0, len(text), 3):
        survives(text[:end])


@pytest.mark.parametrize(
    "piece",
    [
        *("(", ")", "{", "}", "[", "]", "-", "+", ";", ",", "=", '"', "`", "/*", "*/", "//", "\\"),
        *("let %x = ", "fn (", "fn () {", "fn [", "if (", "if (1) {", "else", "match (1) { _ =>"),
        *("def @f() {", "type A {", "type A { B(", "ref(", "add(", "%x.", "%x(a=[", "meta[", "#["),
        *("Tensor[(", "List[", "free_var %x: fn (", "%0 = ", "1 + ", "1 < ", "a.", "@`", "extern"),
        *("\x00", "\ud800", "é", "9", "0x", "1e"),
    ],
)
def test_the_same_thing_without_end(piece: str) -> None:
    many = piece * DEPTH
    survives(many)
    for start in ("", "def @main() {", "def @main(%x: ", "def @main(%x: Tensor[(", "type A { B("):
        survives(HEADER + start + many)
        if piece in "([{":
            closing = {"(": ")", "[": "]", "{": "}"}[piece] * DEPTH
            survives(HEADER + start + many + "1" + closing)
    with contextlib.suppress(RelayError):
        relay.parse_expr(many)


@pytest.mark.parametrize("piece", ["(", "{", "-"])
def test_the_same_thing_far_beyond_the_stack(piece: str) -> None:
    survives(HEADER + "def @main() {" + piece * 50_000)
    survives(HEADER + "def @main() {" + piece * 50_000 + "1 }")


@given(st.text())
def test_any_text(text: str) -> None:
    survives(text)
    survives(HEADER + text)


@given(st.lists(st.sampled_from(SNIPPETS), max_size=40))
def test_any_tokens(pieces: list[str]) -> None:
    survives(HEADER + " ".join(pieces))
    survives(HEADER + "def @main() { " + " ".join(pieces) + " }")


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    survives(HEADER + data.decode("latin-1"))
    survives(data.decode("utf-8", "surrogateescape"))
