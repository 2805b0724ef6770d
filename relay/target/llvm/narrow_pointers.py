"""Code for machines whose addresses have 32 bits, from the same texts as for others.

The runtime, kernels and programs keep addresses in words of 64 bits, in memory that they lay out
themselves (`abi.py`, `relay.native.layout`). Where pointers are narrower, a load of a pointer
becomes a load of the word and a conversion, and the other way around:

    %p = load ptr, ptr %q              %w64.p = load i64, ptr %q, align 8
                                       %p = inttoptr i64 %w64.p to ptr

Memory of the C program has pointers as they are: such a line ends with `; native`. Sizes stay
numbers of 64 bits. Functions of the C library take them as `size_t`, so calls go through functions
of the same name that check them: what does not fit in an address fails as if there were no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

NATIVE: Final = "; native"

_NAME: Final = r'(?:[\w.]+|"[^"\n]*")'
_PLACE: Final = rf"(ptr (?:[%@]{_NAME}|getelementptr \([^\n()]*\)))"
_LOAD: Final = re.compile(
    rf"^  (%[\w.]+) = load ptr, {_PLACE}(?:, align \d+)?([^\n]*)$", re.MULTILINE
)
_STORE: Final = re.compile(
    rf"^  store (volatile )?ptr ([^\n]+?), {_PLACE}(?:, align \d+)?([^\n]*)$", re.MULTILINE
)
_ELEMENT: Final = re.compile(r"(getelementptr (?:inbounds )?)(ptr|\{[^\n}]*\})(, ptr)")
_LOCAL: Final = re.compile(r"^(  %[\w.]+ = alloca )ptr\b", re.MULTILINE)
_GLOBAL: Final = re.compile(r"^@[^\n]+ (?:constant|global) [^\n]*\bptr\b[^\n]*$", re.MULTILINE)
_ADDRESS: Final = re.compile(rf"\bptr\b(?: (@{_NAME}|null\b))?")
_PRINT: Final = re.compile(
    r"^([^\n]*\(ptr, i32, ptr, \.\.\.\) )@snprintf\(ptr ([^\n,]+), i64 ([^\s,]+)", re.MULTILINE
)
_WORD: Final = "{ ptr, i32 }"
_SYSTEM: Final = re.compile(r"@(\w+)(?=\()")
_DECLARED: Final = re.compile(r"^declare [^\n]*@relay\.c\.[^\n]*\n", re.MULTILINE)


def narrowed(text: str) -> str:
    """LLVM IR with words of 64 bits for pointers in memory."""
    numbers = iter(range(len(text)))

    def load(found: re.Match[str]) -> str:
        if NATIVE in found[0]:
            return found[0]
        result, place, rest = found.groups()
        word = f"%w64.{result[1:]}"
        return (
            f"  {word} = load i64, {place}, align 8{rest}\n  {result} = inttoptr i64 {word} to ptr"
        )

    def store(found: re.Match[str]) -> str:
        if NATIVE in found[0]:
            return found[0]
        how, value, place, rest = found.groups(default="")
        word = f"%w64.s{next(numbers)}"
        return (
            f"  {word} = ptrtoint ptr {value} to i64\n"
            f"  store {how}i64 {word}, {place}, align 8{rest}"
        )

    def element(found: re.Match[str]) -> str:
        return found[1] + re.sub(r"\bptr\b", "i64", found[2]) + found[3]

    def constant(found: re.Match[str]) -> str:
        def address(part: re.Match[str]) -> str:
            return f"{_WORD} {{ ptr {part[1]}, i32 0 }}" if part[1] else _WORD

        made = _ADDRESS.sub(address, found[0])
        return made if ", align " in made else f"{made.rstrip()}, align 8"

    lines = [line if NATIVE in line else _ELEMENT.sub(element, line) for line in text.split("\n")]
    text = _variadic("\n".join(lines), numbers)
    text = _GLOBAL.sub(constant, _LOCAL.sub(r"\1i64", text))
    return _STORE.sub(store, _LOAD.sub(load, text))


def _variadic(text: str, numbers: Iterator[int]) -> str:
    """Calls of functions with any number of arguments, which cannot go through others."""

    def bounded(found: re.Match[str]) -> str:
        before, to, size = found.groups()
        if size.isdigit():
            return f"{before}@snprintf(ptr {to}, i32 {size}"
        narrow = f"%w64.n{next(numbers)}"
        return f"  {narrow} = trunc i64 {size} to i32\n{before}@snprintf(ptr {to}, i32 {narrow}"

    text = _PRINT.sub(bounded, text.replace("(ptr, i64, ptr, ...)", "(ptr, i32, ptr, ...)"))
    text = text.replace("@snprintf(ptr, i64, ", "@snprintf(ptr, i32, ")
    text = text.replace("declare i64 @syscall(i64, ", "declare i32 @syscall(i32, ")
    return text.replace("call i64 (i64, ...) @syscall(i64 ", "call i32 (i32, ...) @syscall(i32 ")


def with_system(texts: list[str]) -> list[str]:
    """Texts whose calls of the C library go through functions that take numbers of 64 bits."""
    used: set[str] = set()

    def rename(found: re.Match[str]) -> str:
        if found[1] not in _SYSTEM_CALLS:
            return found[0]
        used.add(found[1])
        return f"@relay.c.{found[1]}"

    made = [_DECLARED.sub("", _SYSTEM.sub(rename, text)) for text in texts]
    made = [
        "\n".join([*(_heads(name) for name in sorted(used) if f"@relay.c.{name}(" in text), text])
        for text in made
    ]
    return [*made, *(_SYSTEM_CALLS[name] for name in sorted(used))]


def _heads(name: str) -> str:
    """The declaration of one of these functions."""
    head = re.search(
        r"^define linkonce_odr hidden (.*?@relay\.c\.\w+\()(.*?)\)", _SYSTEM_CALLS[name], re.M
    )
    assert head is not None
    kinds = [part.split()[0] for part in head[2].split(",") if part.strip()]
    return f"declare {head[1]}{', '.join('...' if kind == '...' else kind for kind in kinds)})"


def _function(result: str, name: str, parameters: str, body: str, declared: str) -> str:
    """A function of the C library with wide numbers."""
    return (
        f"declare {declared}\n"
        f"define linkonce_odr hidden {result} @relay.c.{name}({parameters}) nounwind {{\n"
        f"entry:\n{body}}}\n"
    )


def _bounded(size: str, fails: str, rest: str) -> str:
    """`rest` unless `size` does not fit in an address; else `fails`."""
    return (
        f"  %large = icmp ugt i64 {size}, 2147483647\n"
        "  br i1 %large, label %fail, label %fits\n"
        f"fail:\n  {fails}\n"
        f"fits:\n{rest}"
    )


_SYSTEM_CALLS: Final = {
    "malloc": _function(
        "ptr", "malloc", "i64 %bytes",
        _bounded("%bytes", "ret ptr null",
                 "  %narrow = trunc i64 %bytes to i32\n"
                 "  %made = call ptr @malloc(i32 %narrow)\n  ret ptr %made\n"),
        "ptr @malloc(i32)",
    ),
    "calloc": _function(
        "ptr", "calloc", "i64 %count, i64 %item",
        "  %bytes = call i64 @llvm.umul.fix.sat.i64(i64 %count, i64 %item, i32 0)\n"
        + _bounded("%bytes", "ret ptr null",
                   "  %narrow = trunc i64 %bytes to i32\n"
                   "  %made = call ptr @calloc(i32 %narrow, i32 1)\n  ret ptr %made\n"),
        "ptr @calloc(i32, i32)",
    ),
    "realloc": _function(
        "ptr", "realloc", "ptr %before, i64 %bytes",
        _bounded("%bytes", "ret ptr null",
                 "  %narrow = trunc i64 %bytes to i32\n"
                 "  %made = call ptr @realloc(ptr %before, i32 %narrow)\n  ret ptr %made\n"),
        "ptr @realloc(ptr, i32)",
    ),
    "posix_memalign": _function(
        "i32", "posix_memalign", "ptr %result, i64 %alignment, i64 %bytes",
        _bounded("%bytes", "ret i32 12",
                 "  %made = alloca ptr\n"
                 "  %narrow = trunc i64 %bytes to i32\n"
                 "  %aligned = trunc i64 %alignment to i32\n"
                 "  %status = call i32 @posix_memalign(ptr %made, i32 %aligned, i32 %narrow)\n"
                 "  %block = load ptr, ptr %made\n"
                 "  %word = ptrtoint ptr %block to i64\n"
                 "  store i64 %word, ptr %result\n"
                 "  ret i32 %status\n"),
        "i32 @posix_memalign(ptr, i32, i32)",
    ),
    "fread": _function(
        "i64", "fread", "ptr %to, i64 %item, i64 %count, ptr %file",
        _bounded("%count", "ret i64 0",
                 "  %narrow = trunc i64 %count to i32\n"
                 "  %each = trunc i64 %item to i32\n"
                 "  %read = call i32 @fread(ptr %to, i32 %each, i32 %narrow, ptr %file)\n"
                 "  %wide = zext i32 %read to i64\n  ret i64 %wide\n"),
        "i32 @fread(ptr, i32, i32, ptr)",
    ),
    "memcmp": _function(
        "i32", "memcmp", "ptr %one, ptr %two, i64 %bytes",
        "  %narrow = trunc i64 %bytes to i32\n"
        "  %found = call i32 @memcmp(ptr %one, ptr %two, i32 %narrow)\n  ret i32 %found\n",
        "i32 @memcmp(ptr, ptr, i32)",
    ),
    "mmap": _function(
        "ptr", "mmap", "ptr %at, i64 %bytes, i32 %access, i32 %flags, i32 %file, i64 %offset",
        _bounded("%bytes", "ret ptr inttoptr (i32 -1 to ptr)",
                 "  %narrow = trunc i64 %bytes to i32\n"
                 "  %made = call ptr @mmap(ptr %at, i32 %narrow, i32 %access, i32 %flags, "
                 "i32 %file, i32 0)\n  ret ptr %made\n"),
        "ptr @mmap(ptr, i32, i32, i32, i32, i32)",
    ),
    **{
        name: _function(
            "i32", name, f"ptr %at, i64 %bytes{more}",
            "  %narrow = trunc i64 %bytes to i32\n"
            f"  %status = call i32 @{name}(ptr %at, i32 %narrow{more})\n  ret i32 %status\n",
            f"i32 @{name}(ptr, i32{', i32' if more else ''})",
        )
        for name, more in (("munmap", ""), ("mprotect", ", i32 %how"), ("madvise", ", i32 %how"))
    },
    "clock_gettime": _function(
        "i32", "clock_gettime", "i32 %clock, ptr %time",
        "  %pair = alloca [2 x i32]\n"
        "  %status = call i32 @clock_gettime(i32 %clock, ptr %pair)\n"
        "  %seconds = load i32, ptr %pair\n"
        "  %second = getelementptr i32, ptr %pair, i32 1\n"
        "  %nanoseconds = load i32, ptr %second\n"
        "  %seconds.wide = zext i32 %seconds to i64\n"
        "  %nanoseconds.wide = zext i32 %nanoseconds to i64\n"
        "  store i64 %seconds.wide, ptr %time\n"
        "  %next = getelementptr i64, ptr %time, i32 1\n"
        "  store i64 %nanoseconds.wide, ptr %next\n  ret i32 %status\n",
        "i32 @clock_gettime(i32, ptr)",
    ),
    "pthread_self": _function(
        "i64", "pthread_self", "",
        "  %self = call i32 @pthread_self()\n  %wide = zext i32 %self to i64\n  ret i64 %wide\n",
        "i32 @pthread_self()",
    ),
    "pthread_join": _function(
        "i32", "pthread_join", "i64 %thread, ptr %result",
        "  %narrow = trunc i64 %thread to i32\n"
        "  %status = call i32 @pthread_join(i32 %narrow, ptr %result)\n  ret i32 %status\n",
        "i32 @pthread_join(i32, ptr)",
    ),
    "pthread_create": _function(
        "i32", "pthread_create", "ptr %thread, ptr %how, ptr %function, ptr %argument",
        "  store i64 0, ptr %thread\n"
        "  %status = call i32 @pthread_create(ptr %thread, ptr %how, ptr %function, "
        "ptr %argument)\n  ret i32 %status\n",
        "i32 @pthread_create(ptr, ptr, ptr, ptr)",
    ),
}  # fmt: skip
