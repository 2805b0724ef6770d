"""A straight-line model as one file of C11, with the header that libraries for C have.

    exe.export("net.c")                   net.c, net.h                weights inside
    exe.export("net.c", embed=False)      net.c, net.h, net.weights

The file has the kernels, the weights as arrays, and `net_run`, which calls one kernel after the
other over an arena whose offsets are known. What it takes from C11:

    int8_t to int64_t and uint8_t to uint64_t; `float` and `double` of 32 and 64 bits, computed as
    what they are and not by -ffast-math; conversions to signed integers that keep the low bits, and
    arithmetic shifts, as every compiler in use has them
    <string.h> memcpy; <math.h> sqrt, fabs, copysign, those that are called, of float or double
    <stdlib.h> malloc, free: not with -DNET_STATIC, then there is one model, in static memory
    <stdio.h> fopen, fread, fclose: with a file of weights only, of a machine of this byte order

A run uses one thread, whatever `net_create` is told, and no memory but that of the model.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.executors.elsewhere import ElsewhereExecutable
from relay.executors.executable import Executable
from relay.executors.straight_line import StraightLineExecutable
from relay.files import as_path, replacing
from relay.program.plan import ALIGNMENT, Arena, InConstant, Input, Location, Output
from relay.program.program import MAIN
from relay.target.c.helpers import definitions
from relay.target.c.kernels import helpers_of
from relay.target.c.types import float_literal, memory_type
from relay.target.kernel import Kernel
from relay.target.llvm import abi
from relay.target.llvm.c import model as c_model
from relay.target.llvm.c.export import identifier
from relay.target.llvm.c.library import straight_header

_INSIDE: Final = 8  # a status in addition to those of libraries
_MESSAGES: Final = {
    status: text
    for status, text in c_model.MESSAGES.items()
    if status not in (abi.INTERRUPTED, c_model.NO_WEIGHTS)
}
_LONG: Final = 4096  # elements; more are written with as many digits each
_WIDTH: Final = 100


def export(
    exe: Executable,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    embed: bool = True,
) -> Path:
    """Write the model to `path` and the header beside it; returns the path of the header."""
    path = as_path(path)
    if isinstance(exe, ElsewhereExecutable):
        raise exe.reason
    assert isinstance(exe, StraightLineExecutable)  # all that this target makes
    name = identifier(path.stem) if name is None else name
    if identifier(name) != name:
        raise RelayError(f"{name!r} is no name in C")
    source = Source(exe, name, embed)
    header = path.with_suffix(".h")
    with ExitStack() as files:
        # replace all files, or none
        made = files.enter_context(replacing(path, "the model"))
        text = files.enter_context(replacing(header, "its header"))
        if not embed:
            apart = files.enter_context(replacing(path.with_suffix(".weights"), "its weights"))
            apart.write_bytes(source.weights.digest + source.weights.data())
        text.write_text(source.header())
        with made.open("w") as file:
            for part in source.parts(header.name):
                file.write(f"{part}\n")
    return header


class Source:
    """The text of a model."""

    def __init__(self, exe: StraightLineExecutable, name: str, embed: bool) -> None:
        self.exe = exe
        self.name = name
        self.embed = embed
        constants = {key: tensor.array for key, tensor in exe.constants.items()}
        state = {c_model.initial_name(key): one.array for key, one in exe.state.items()}
        self.weights = c_model.WeightBlock(exe.program, constants | state)
        self.state = exe.program[MAIN].state
        self.arrays = {key: f"constant_{i}" for i, key in enumerate(self.weights.arrays)}
        self.dtypes = {key: dtypes.from_numpy(a.dtype) for key, a in self.weights.arrays.items()}

    def header(self) -> str:
        opening = f"The model `{self.name}`, compiled by Relay to C11."
        place = c_model.weights_place(self.name, self.embed)
        infos = (self.exe.inputs, self.exe.outputs, bool(self.state))
        return straight_header(self.name, opening, *infos, threads=1, weights=place)

    def parts(self, header: str) -> Iterator[str]:
        """The text, part by part."""
        kernels = {call.kernel.name: call.kernel for call in self.exe.bound.calls}
        texts = [kernel.ir for kernel in kernels.values()]
        yield f"/* The model `{self.name}`, compiled by Relay to C11. */"
        yield f'#include "{header}"\n\n{PREAMBLE}'
        used = {helper for text in texts for helper in helpers_of(text)}
        yield "\n\n".join(definitions(used)) + "\n"
        yield from (f"{_described(kernel)}{kernel.ir}\n" for kernel in kernels.values())
        if self.embed:
            for key, array in self.weights.arrays.items():
                yield from _array(self.arrays[key], key, array, self.dtypes[key])
        yield self.model()
        yield self.run()

    # --- the model

    def model(self) -> str:
        """The memory of a model, `create`, `destroy`, `error`, and `reset`."""
        names: dict[str, Any] = {
            "name": self.name,
            "static": f"{self.name.upper()}_STATIC",
            "arena": self.exe.bound.plan.arena,
            "out_of_memory": abi.OUT_OF_MEMORY,
            "inside": _INSIDE,
        }
        fields, begin, after, size = "", "", "", names["arena"]
        if self.state:
            fields += f"  void *state[{len(self.state)}], *next[{len(self.state)}];\n"
        for number, key in enumerate((*self.state, *self.state)):
            slot = f"{'state' if number < len(self.state) else 'next'}[{number % len(self.state)}]"
            size = -(-size // ALIGNMENT) * ALIGNMENT
            begin += f"  made->{slot} = made->memory.bytes + {size};\n"
            size += self.weights.arrays[c_model.initial_name(key)].nbytes
        if self.state:
            begin += f"  {self.name}_reset(made);\n"
            after = self._reset()
        if not self.embed:
            fields += "  unsigned char *weights;\n"
        names |= {"fields": fields, "size": max(1, size), "begin": begin}
        messages = _MESSAGES | ({_INSIDE: "the weights are inside of the model"})
        if not self.embed:
            names |= {
                "bytes": self.weights.size,
                "digest": ", ".join(map(str, self.weights.digest)),
                "unreadable": c_model.UNREADABLE,
                "other_weights": c_model.OTHER_WEIGHTS,
            }
        load = _LOADED if not self.embed else _EMBEDDED
        meanings = "".join(f'    case {n}: return "{text}";\n' for n, text in messages.items())
        error = Template(_ERROR).substitute(name=self.name, meanings=meanings)
        parts = [Template(part).substitute(names) for part in (_MEMORY, *load)]
        return "\n".join([parts[0], after, *parts[1:], error])

    def _reset(self) -> str:
        """The function that sets the state back."""
        lines = [f"void {self.name}_reset({self.name} *model) {{"]
        for number, key in enumerate(self.state):
            initial = c_model.initial_name(key)
            size = self.weights.arrays[initial].nbytes
            place = self._constant(initial)
            lines.append(f"  memcpy(model->state[{number}], {place}, {size});")
        return "\n".join([*lines, "}\n"])

    def _constant(self, key: str) -> str:
        if self.embed:
            return self.arrays[key]
        return f"(const void *)(model->weights + {self.weights.offsets[key]})"

    # --- the run

    def run(self) -> str:
        """The kernel calls of a run."""
        main = self.exe.bound
        places = {slot: self._place(place) for place, slot in main.slots.items()}
        lines, fails = [], False
        where = ""
        for call in main.calls:
            given = [places[slot] for slot in call.slots]
            fails |= bool(call.kernel.checks)
            given += ["failure"] * bool(call.kernel.checks)
            if call.where != where:
                where = call.where
                lines += [f"  /* {_comment(where)} */"] * bool(where)
            code = f"{call.kernel.name}({', '.join(given)})"
            lines += _wrapped(
                f"  if ({code}) return {abi.OUT_OF_RANGE};" if call.kernel.checks else f"  {code};"
            )
        for number in range(len(self.state)):
            state, following = f"model->state[{number}]", f"model->next[{number}]"
            lines.append(f"  void *const before_{number} = {state};")
            lines += [f"  {state} = {following};", f"  {following} = before_{number};"]
        text = "\n".join(lines)
        begin = []
        if "arena +" in text:
            begin.append("  unsigned char *const arena = model->memory.bytes;")
        begin += ["  int64_t failure[3];"] * fails
        whole = "\n".join([*begin, text])
        for parameter in ("model", "inputs", "outputs"):
            if f"{parameter}[" not in whole and f"{parameter}->" not in whole:
                begin.append(f"  (void){parameter};")
        head = f"int {self.name}_run({self.name} *model, const void *const inputs[], "
        return "\n".join([f"{head}void *const outputs[]) {{", *begin, text, "  return 0;", "}"])

    def _place(self, place: Location) -> str:
        """The address of a tensor."""
        main, kept = self.exe.bound, len(self.state)
        match place:
            case Input(index):
                given = main.inputs - kept
                return f"inputs[{index}]" if index < given else f"model->state[{index - given}]"
            case Output(index):
                made = main.outputs - kept
                return f"outputs[{index}]" if index < made else f"model->next[{index - made}]"
            case InConstant(name):
                return self._constant(name)
            case Arena(offset):
                return f"(void *)(arena + {offset})"


def _described(kernel: Kernel) -> str:
    return f"/* {_comment(', '.join(kernel.operators))} */\n" if kernel.operators else ""


def _comment(text: str) -> str:
    """A text that may stand in a comment."""
    return text.replace("*/", "* /").replace("\n", " ")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
        initial_indent="",
    )


# --- weights -------------------------------------------------------------------------------------


def _array(name: str, key: str, array: np.ndarray, dtype: str) -> Iterator[str]:
    """A constant as an array of C."""
    count = max(1, array.size)
    yield f"/* `{_comment(key)}`: {dtype}{list(array.shape)} */"
    yield f"static const {memory_type(dtype)} {name}[{count}] = {{"
    for start in range(0, count, 1 << 16):
        yield _lines(_numbers(array.reshape(-1)[start : start + (1 << 16)], dtype, array.size))
    yield "};\n"


def _numbers(flat: np.ndarray, dtype: str, count: int) -> list[str]:
    """Literals of the elements, as they lie in memory."""
    if not flat.size:
        return ["0"]
    if dtype in ("float32", "float64"):
        if count <= _LONG or not np.isfinite(flat).all():
            return [float_literal(float(value), dtype) for value in flat.tolist()]
        form = "%.8ef" if dtype == "float32" else "%.16e"
        return [form % value for value in flat.tolist()]
    kind = memory_type(dtype).removesuffix("_t")
    stored = np.ascontiguousarray(flat).view(kind)
    numbers = [str(value) for value in stored.tolist()]
    if kind == "uint64":
        return [f"UINT64_C({number})" for number in numbers]
    if kind == "int64":
        return [n if n != str(-(2**63)) else "INT64_MIN" for n in numbers]
    return numbers


def _lines(numbers: Sequence[str]) -> str:
    """The numbers in lines of some length."""
    each = max(1, (_WIDTH - 2) // (max(map(len, numbers)) + 2))
    rows = (numbers[i : i + each] for i in range(0, len(numbers), each))
    return "\n".join(f"  {', '.join(row)}," for row in rows)


# --- text ----------------------------------------------------------------------------------------

PREAMBLE: Final = """\
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "this code counts on NaN, infinities and the order of sums: compile without -ffast-math"
#endif
#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "float is computed in another type here: compile with -msse2 -mfpmath=sse"
#endif
_Static_assert(sizeof(float) == 4 && (-1 >> 1) == -1, "this code needs common arithmetic");
/* products and sums are rounded one by one */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)
#pragma GCC optimize("fp-contract=off")
#endif
"""

_MEMORY: Final = """\
struct $name {
$fields  union {
    max_align_t aligned;
    unsigned char bytes[$size];  /* the arena takes $arena */
  } memory;
};

#ifdef $static
static $name the_model;
static bool is_taken;
static $name *take(void) {
  if (is_taken) return NULL;
  is_taken = true;
  return &the_model;
}
static void give_back($name *model) {
  is_taken = is_taken && model != &the_model;
}
#else
#include <stdlib.h>
static $name *take(void) {
  return malloc(sizeof($name));
}
static void give_back($name *model) {
  free(model);
}
#endif
"""

_EMBEDDED: Final = (
    """\
int ${name}_create($name **model, const char *weights, int threads) {
  (void)threads;
  *model = NULL;
  if (weights) return $inside;
  $name *const made = take();
  if (!made) return $out_of_memory;
$begin  *model = made;
  return 0;
}

void ${name}_destroy($name *model) {
  if (model) give_back(model);
}
""",
)

_LOADED: Final = (
    """\
#include <stdio.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "the file of weights has its low bytes first: export the model with the weights inside"
#endif

#ifdef $static
static union {
  max_align_t aligned;
  unsigned char bytes[$bytes + 1];
} the_weights;
static unsigned char *take_weights(void) {
  return the_weights.bytes;
}
static void give_weights_back(unsigned char *weights) {
  (void)weights;
}
#else
static unsigned char *take_weights(void) {
  return malloc($bytes + 1);
}
static void give_weights_back(unsigned char *weights) {
  free(weights);
}
#endif

/* Read the file of weights: a digest of the model, then the data. */
static int load($name *model, const char *path) {
  static const unsigned char digest[] = {$digest};
  unsigned char found[sizeof digest];
  FILE *const file = path ? fopen(path, "rb") : NULL;
  if (!file) return $unreadable;
  int status = 0;
  if (fread(found, 1, sizeof found, file) != sizeof found || memcmp(found, digest, sizeof found))
    status = $other_weights;
  else if (!(model->weights = take_weights()))
    status = $out_of_memory;
  else if (fread(model->weights, 1, $bytes, file) != $bytes)
    give_weights_back(model->weights), status = $other_weights;
  fclose(file);
  return status;
}

int ${name}_create($name **model, const char *weights, int threads) {
  (void)threads;
  *model = NULL;
  $name *const made = take();
  if (!made) return $out_of_memory;
  const int status = load(made, weights);
  if (status) return give_back(made), status;
$begin  *model = made;
  return 0;
}

void ${name}_destroy($name *model) {
  if (!model) return;
  give_weights_back(model->weights);
  give_back(model);
}
""",
)

_ERROR: Final = """\
const char *${name}_error(int status) {
  switch (status) {
$meanings    default: return "unknown status";
  }
}
"""
