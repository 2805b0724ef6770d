"""How names are spelled in text, and how variables get names of their own.

A word is a letter or underscore, then letters, digits and underscores; operators join words with
dots. The name of a function, data type, constructor, operator or attribute is never changed: where
it is not a word it stands between backquotes, `like this`, with the escapes of a JSON string.
Variables are known by identity, so theirs may be changed to fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Final

WORD: Final = r"[^\W\d]\w*"
_WORD: Final = re.compile(WORD)
_DOTTED: Final = re.compile(rf"{WORD}(?:\.{WORD})*")
_NO_WORD_CHARACTER: Final = re.compile(r"\W")

KEYWORDS: Final = frozenset(
    (
        "let",
        "fn",
        "def",
        "if",
        "else",
        "type",
        "match",
        "extern",
        "free_var",
        "free_type_var",
        "ref",
        "ref_read",
        "ref_write",
        "True",
        "False",
        "_",
    )
)


def is_word(name: str) -> bool:
    """Whether `name` is a single word (which may be a keyword)."""
    return _WORD.fullmatch(name) is not None


def is_dotted(name: str) -> bool:
    """Whether `name` is words joined by dots."""
    return _DOTTED.fullmatch(name) is not None


def as_word(hint: str, default: str) -> str:
    """The word closest to `hint`; `default` starts it where `hint` has nothing to start with."""
    word = _NO_WORD_CHARACTER.sub("_", hint)
    return word if word and is_word(word) else default + word


def spell(name: str, reserved: Collection[str] = KEYWORDS) -> str:
    """`name` as it is, or between backquotes where it would be read as something else."""
    return name if is_dotted(name) and name not in reserved else quote(name)


def quote(name: str) -> str:
    """`name` between backquotes."""
    return "`" + string_text(name)[1:-1].replace("`", "\\u0060") + "`"


def unquote(text: str) -> str:
    """The name that `quote` wrote; ValueError when an escape in it is none."""
    return read_string(f'"{text[1:-1]}"')


def string_text(value: str) -> str:
    """A string as in JSON; characters that cannot be seen are escaped."""
    return json.dumps(value, ensure_ascii=not value.isprintable())


def read_string(text: str) -> str:
    """The string that `string_text` wrote; ValueError when an escape in it is none."""
    value: str = json.loads(text, strict=False)
    return value


class UniqueNames:
    """Gives out names, each once: `x`, then `x1`, `x2`, …"""

    def __init__(self, reserved: Collection[str] = ()) -> None:
        self.taken: set[str] = set(reserved)
        self._next: dict[str, int] = {}

    def fresh(self, word: str) -> str:
        """`word` itself, or with the first number that makes it new."""
        name = word
        while name in self.taken:
            number = self._next[word] = self._next.get(word, 0) + 1
            name = f"{word}{number}"
        self.taken.add(name)
        return name
