"""The C header of a whole program: typed inline functions around the few functions on words that
the library has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from string import Template
from typing import Final

from relay.native import layout
from relay.program.program import ScalarSpec, spec_text
from relay.target.llvm import abi
from relay.target.llvm.c.failures import WRONG_VALUE
from relay.target.llvm.c.model import opening
from relay.target.llvm.c.types import CConstructor, CData, CSlot, CTypes, c_scalar
from relay.target.llvm.program.words import is_object
from relay.target.llvm.target import LLVMTarget


def header_text(types: CTypes, target: LLVMTarget, *, weights: str, threads: int) -> str:
    """The header."""
    name = types.model
    return _HEADER.substitute(
        name=name,
        upper=name.upper(),
        guard=f"{name.upper()}_H",
        opening=opening(name, target),
        threads=threads,
        weights=weights,
        wrong_value=WRONG_VALUE,
        out_of_memory=abi.OUT_OF_MEMORY,
        stack_overflow=layout.STACK_OVERFLOW,
        failed=layout.FAILED,
        unequal=layout.UNEQUAL,
        too_large=layout.TOO_LARGE,
        out_of_range=abi.OUT_OF_RANGE,
        interrupted=abi.INTERRUPTED,
        types="\n".join(f"typedef struct {data.name} {data.name};" for data in types.data),
        words="".join(map(partial(_per_type, _WORD, name), types.scalars)),
        tensors="".join(map(partial(_per_type, _TENSOR, name), types.elements)),
        data="".join(_data_text(types, data) for data in types.data),
        run=_run_text(types),
        reset=_RESET.substitute(name=name) if types.state else "",
    )


def _per_type(text: Template, name: str, dtype: str) -> str:
    return text.substitute(name=name, dtype=dtype, type=c_scalar(dtype))


def _data_text(types: CTypes, data: CData) -> str:
    kind = "data" if data.is_data else "A cell:"
    parts = [f"/* {kind} {data.text} */\n"]
    if data.is_data:
        tags = ", ".join(f"{one.name}_tag" for one in data.constructors)
        parts.append(f"enum {{ {tags} }};\n" if tags else "")
        parts.append(_TAG.substitute(name=types.model, type=data.name))
    for one in data.constructors:
        parts.append(f"\n/* {one.text} */\n" if data.is_data else "\n")
        parts.append(_make_text(types, data, one))
        parts += [_field_text(types, data, one, place) for place in one.places]
    return "".join(parts) + "\n"


def _make_text(types: CTypes, data: CData, one: CConstructor) -> str:
    if not one.places and data.is_data:
        return (
            f"static inline {data.name} *{one.name}(void) {{\n"
            f"  return ({data.name} *)(uintptr_t){2 * one.tag + 1};\n}}\n"
        )
    given = [f"{types.value(place.spec)}{place.name}" for place in one.places]
    in_memory = sorted(one.places, key=lambda place: place.word)
    head = _wrapped(f"static inline {data.name} *{one.name}(", [f"{types.model} *model", *given])
    return (
        f"{head}) {{\n"
        f"{_wrapped('  const int64_t words[] = {', _words(types, in_memory))}}};\n"
        f"  return ({data.name} *){types.model}_make(model, {one.number}, words);\n}}\n"
    )


def _field_text(types: CTypes, data: CData, one: CConstructor, place: CSlot) -> str:
    name = f"{one.name}{place.name.removeprefix('field')}"
    word = f"{types.model}_field(value, {one.number}, {place.word})"
    return (
        f"static inline {types.value(place.spec)}{name}(const {data.name} *value) {{\n"
        f"  return {_value(types, place, word)};\n}}\n"
    )


def _run_text(types: CTypes) -> str:
    name = types.model
    given = [f"{types.value(place.spec)}{place.name}" for place in types.params]
    taken = [f"{types.value(place.spec)}*{place.name}" for place in types.results]
    lines = [
        _wrapped(f"static inline int {name}_run(", [f"{name} *model", *given, *taken]) + ") {",
        _wrapped("  const int64_t arguments[] = {", _words(types, types.params) or ["0"]) + "};",
    ]
    lines.append(f"  int64_t results[{max(1, len(types.results))}];")
    lines.append(f"  int status = {name}_invoke(model, arguments, results);")
    for number, place in enumerate(types.results):
        lines.append(f"  *{place.name} = {_value(types, place, f'results[{number}]')};")
    lines += ["  return status;", "}"]
    return _RUN.substitute(
        name=name,
        arguments=_listed(types.params),
        results=_listed(types.results),
        function="\n".join(lines),
    )


def _listed(places: Sequence[CSlot]) -> str:
    return "\n".join(f"     {p.name}: {spec_text(p.spec)}" for p in places) or "     none"


def _wrapped(start: str, parts: Sequence[str]) -> str:
    """`start` and comma-separated parts, one per line if they are too long for one."""
    line = start + ", ".join(parts)
    return line if len(line) <= 92 else f"{start}\n    " + ",\n    ".join(parts)


def _words(types: CTypes, places: Sequence[CSlot]) -> list[str]:
    """C expressions for the words of values."""
    return [
        f"(int64_t)(uintptr_t){place.name}"
        if is_object(place.spec)
        else f"{_word_name(types, place)}({place.name})"
        for place in places
    ]


def _value(types: CTypes, place: CSlot, word: str) -> str:
    """A C expression for the value in a word."""
    if is_object(place.spec):
        return f"({types.value(place.spec)})(uintptr_t){word}"
    return f"{_word_name(types, place)}_value({word})"


def _word_name(types: CTypes, place: CSlot) -> str:
    assert isinstance(place.spec, ScalarSpec)
    return f"{types.model}_word_{place.spec.dtype}"


_WORD: Final = Template("""\
static inline int64_t ${name}_word_$dtype($type value) {
  int64_t word = 0;
  memcpy(&word, &value, sizeof value);
  return word;
}
static inline $type ${name}_word_${dtype}_value(int64_t word) {
  $type value;
  memcpy(&value, &word, sizeof value);
  return value;
}

""")

_TENSOR: Final = Template("""\
/* A tensor of $dtype. */
typedef struct ${name}_$dtype ${name}_$dtype;

/* One whose elements stay where they are. */
static inline ${name}_$dtype *${name}_${dtype}_borrow(
    $name *model, const $type *data, int rank, const int64_t *sizes) {
  return (${name}_$dtype *)${name}_tensor(model, data, sizeof *data, rank, sizes, 0);
}
/* One with elements of its own, which are the same. */
static inline ${name}_$dtype *${name}_${dtype}_copy(
    $name *model, const $type *data, int rank, const int64_t *sizes) {
  return (${name}_$dtype *)${name}_tensor(model, data, sizeof *data, rank, sizes, 1);
}
/* Its elements, row by row. */
static inline const $type *${name}_${dtype}_data(const ${name}_$dtype *tensor) {
  return (const $type *)${name}_elements(tensor);
}

""")

_TAG: Final = Template("""\
static inline int ${type}_tag(const $type *value) {
  return ${name}_tag(value);
}
""")

_RUN: Final = Template("""\
/* Run the model. Arguments, in this order:
$arguments
   Results, to be released:
$results
   Gives 0 or a status; then the results are NULL, and ${name}_message says more. Arguments stay
   the caller's. A result may have its elements where an argument has them. */
$function
""")

_RESET: Final = Template("""\
/* Set the state, which the model keeps from one run to the next, back to what it was when the model
   was exported. A run that fails leaves the state as it was; what it has left behind is freed by
   this, when no other value is held. */
void ${name}_reset($name *model);

""")

_HEADER: Final = Template("""\
/* $opening

   A model and its values serve one thread at a time; make several models to use several threads.

   Values are tensors and data, which belong to the model they were made with, and never change.
   Whoever is given a new one holds it, and releases it in the end:

   - what makes a value (_borrow, _copy, and the functions of constructors), ${name}_run and
     ${name}_hold give a value that has to be released;
   - a constructor takes its fields over, also when it fails: they are no longer to be released,
     unless ${name}_hold was called before;
   - all other functions only look at what they are given. What they find inside of a value is
     there as long as that is held, and is not to be released.

   A value that could not be made is NULL. Constructors and ${name}_run take NULL, and then give
   NULL, and the status of what went wrong; so it is enough to look at that of the run.

   Memory that was borrowed must stay as it is until nothing made of it is held any longer.
   What cells that hold each other, or a run that failed, have left behind is freed when the last
   value of the model is released. */
#ifndef $guard
#define $guard

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many threads a call uses when nobody says otherwise. */
#define ${upper}_THREADS $threads

/* Statuses that a program may want to tell apart; 0 is none of them. */
#define ${upper}_OUT_OF_RANGE $out_of_range
#define ${upper}_INTERRUPTED $interrupted
#define ${upper}_OUT_OF_MEMORY $out_of_memory
#define ${upper}_WRONG_VALUE $wrong_value
#define ${upper}_STACK_OVERFLOW $stack_overflow
#define ${upper}_FAILED $failed
#define ${upper}_UNEQUAL $unequal
#define ${upper}_TOO_LARGE $too_large

typedef struct $name $name;

/* --- models */

/* Make a model. `weights` is the name of the file of weights: $weights.
   `threads` is the most threads a call may use; 0 for ${name}_create to decide.
   Gives 0, and then *model must be destroyed, or a status that ${name}_error explains. */
int ${name}_create($name **model, const char *weights, int threads);

/* Free a model and all its values; NULL is fine. */
void ${name}_destroy($name *model);

$reset/* What a status means. */
const char *${name}_error(int status);

/* What went wrong last with this model, until the next call. */
const char *${name}_message(const $name *model);

/* Limits, from the next run on: threads, bytes of the stack that the model recurses on, bytes of
   all values. 0 for the usual ones: $threads, a gigabyte, none. */
void ${name}_set_threads($name *model, int threads);
void ${name}_set_stack($name *model, int64_t bytes);
void ${name}_set_memory($name *model, int64_t bytes);

/* Have `watch` called every ten milliseconds or so while the model runs. When it does not give 0,
   the run ends, and its status is ${upper}_INTERRUPTED. NULL for nobody. */
void ${name}_set_watch($name *model, int (*watch)($name *model));

/* --- values */

/* Hold a value once more. It is returned. */
void *${name}_hold($name *model, void *value);

/* Let go of a value; NULL is fine. */
void ${name}_release($name *model, void *value);

/* How many objects there are. */
int64_t ${name}_live(const $name *model);

/* Of a tensor: the number of its dimensions, and their sizes. */
int ${name}_rank(const void *tensor);
const int64_t *${name}_sizes(const void *tensor);

/* What the functions below are made of: words, that are values or hold scalars. */
void *${name}_tensor($name *model, const void *data, int64_t item_bytes, int rank,
                     const int64_t *sizes, int copied);
const void *${name}_elements(const void *tensor);
void *${name}_make($name *model, int constructor, const int64_t *words);
int64_t ${name}_field(const void *value, int constructor, int word);
int ${name}_tag(const void *value);
int ${name}_invoke($name *model, const int64_t *arguments, int64_t *results);

${words}/* --- tensors: dense, row by row, aligned to their elements; NULL is fine for none */

${tensors}/* --- data: a value is made by a constructor, and its tag tells which. A field of another
   constructor than that is NULL, or 0. */

$types

${data}/* --- running */

$run
#ifdef __cplusplus
}
#endif

#endif
""")
