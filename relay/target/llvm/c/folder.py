"""A compiled model as a folder that a C compiler builds:

    exe.export("net", "folder")

    net/net.o, net/net.h      the model
    net/main.c                a program that runs it
    net/Makefile              make -C net

The Makefile names the compiler of the machine that the model is for; `make CC=…` takes another.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from relay.errors import RelayError
from relay.executors.arrays import TensorInfo
from relay.files import replacing
from relay.target.llvm.architectures import FACTS
from relay.target.llvm.target import LLVMTarget


def make_folder(path: Path) -> None:
    """Make the folder, unless it is there."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise RelayError(f"cannot make the folder `{path}`: {error.strerror or error}") from None


def compiler(target: LLVMTarget) -> str:
    """The usual name of a C compiler for a machine, called here."""
    here = LLVMTarget.here()
    if (here.arch, here.system) == (target.arch, target.system):
        return "cc"
    return f"{FACTS[target.arch].tools}gcc"


def write_sources(
    path: Path, name: str, target: LLVMTarget, tensors: Sequence[Sequence[TensorInfo]] | None
) -> None:
    """Write the program and its Makefile; `tensors` are the inputs and outputs of straight-line
    code."""
    names = {"name": name, "upper": name.upper(), "compiler": compiler(target)}
    main = _VALUES.substitute(names)
    if tensors is not None:
        names["inputs"], names["outputs"] = (_places(each) for each in tensors)
        main = _TENSORS.substitute(names)
    texts = {"main.c": main, "Makefile": _MAKEFILE.substitute(names)}
    for file, text in texts.items():
        with replacing(path / file, "the model") as unfinished:
            unfinished.write_text(text)


def _places(infos: Sequence[TensorInfo]) -> str:
    """Memory for each of the tensors: its address and its size."""
    return "".join(f"    {{NULL, {info.nbytes}}}, /* {info} */\n" for info in infos)


_MAKEFILE: Final = Template("""\
# Builds `$name`, a program that runs the model.
CC = $compiler
CFLAGS = -O2 -Wall -Wextra

$name: main.c $name.o $name.h
	$$(CC) $$(CFLAGS) -o $$@ main.c $name.o -pthread

clean:
	rm -f $name

.PHONY: clean
""")

_TENSORS: Final = Template("""\
/* Runs the model on files: $name INPUT... OUTPUT..., in the order of $name.h. A file has the
   elements of a tensor, row by row, as they are in memory. Without files it runs on zeros. */
#include <stdio.h>
#include <stdlib.h>
#include "$name.h"

typedef struct {
  void *data;
  size_t bytes;
} place;

static place places[] = {
$inputs$outputs};

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\\n", what, why);
  return 1;
}

int main(int count, char **arguments) {
  const int tensors = ${upper}_INPUTS + ${upper}_OUTPUTS;
  if (count != 1 && count != 1 + tensors) return fail(arguments[0], "INPUT... OUTPUT...");
  void *all[${upper}_INPUTS + ${upper}_OUTPUTS + 1];
  for (int i = 0; i < tensors; i++) {
    /* vectors of the model are fastest where they are aligned */
    all[i] = aligned_alloc(64, (places[i].bytes + 63) / 64 * 64 + 64);
    if (!all[i]) return fail("memory", "there is not enough");
    for (size_t k = 0; k < places[i].bytes; k++) ((char *)all[i])[k] = 0;
  }
  for (int i = 0; i < ${upper}_INPUTS && count > 1; i++) {
    FILE *file = fopen(arguments[1 + i], "rb");
    if (!file) return fail(arguments[1 + i], "it cannot be read");
    size_t read = fread(all[i], 1, places[i].bytes, file);
    if (read != places[i].bytes || fgetc(file) != EOF) {
      return fail(arguments[1 + i], "it has another size than the input");
    }
    fclose(file);
  }
  $name *model;
  int status = ${name}_create(&model, NULL, 0);
  if (status) return fail("$name", ${name}_error(status));
  status = ${name}_run(model, (const void *const *)all, all + ${upper}_INPUTS);
  if (status) return fail("$name", ${name}_error(status));
  for (int i = ${upper}_INPUTS; i < tensors && count > 1; i++) {
    FILE *file = fopen(arguments[1 + i], "wb");
    if (!file || fwrite(all[i], 1, places[i].bytes, file) != places[i].bytes || fclose(file)) {
      return fail(arguments[1 + i], "it cannot be written");
    }
  }
  ${name}_destroy(model);
  for (int i = 0; i < tensors; i++) free(all[i]);
  return 0;
}
""")

_VALUES: Final = Template("""\
/* Makes the model; $name.h says how values for it are made, and docs/aot.md shows it. */
#include <stdio.h>
#include "$name.h"

int main(void) {
  $name *model;
  int status = ${name}_create(&model, NULL, 0);
  if (status) {
    fprintf(stderr, "%s\\n", ${name}_error(status));
    return 1;
  }
  ${name}_destroy(model);
  return 0;
}
""")
