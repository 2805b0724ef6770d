"""Models for microcontrollers as folders that GNU's compiler for ARM builds:

    exe.export("kws", "folder", ram=64 << 10, flash=256 << 10)

    kws/kws.o, kws/kws.h     the model: static memory only, nothing but memcpy, memset and libgcc
    kws/main.c               a program that runs it on a file of the debugger's (semihosting)
    kws/startup.c, board.ld  vectors, memory: of the board MPS2 AN386, which QEMU has
    kws/Makefile             make -C kws; make -C kws run

A model that does not fit in the memory given is refused, with its sizes, before anything is
written.
"""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Final

from relay.errors import RelayError
from relay.files import replacing
from relay.target.llvm.architectures import FACTS
from relay.target.llvm.c.folder import make_folder
from relay.target.llvm.c.static import StaticLibrary
from relay.target.llvm.objects import SectionSizes, section_sizes
from relay.target.llvm.target import LLVMTarget

# What the compiler is told about the units for floats of processors.
_FLOATS: Final = {
    "cortex-m4": "-mfpu=fpv4-sp-d16",
    "cortex-m7": "-mfpu=fpv5-d16",
    "cortex-m33": "-mfpu=fpv5-sp-d16",
}


def write_board(path: Path, library: StaticLibrary, *, ram: int = 0, flash: int = 0) -> Path:
    """Write the folder; returns the path of the header. `ram` and `flash` are the bytes there are,
    or 0 where nobody asks."""
    name, data = library.name, library.object(embed=True)
    require_room(library, section_sizes(data), ram, flash)
    make_folder(path)
    cpu = library.target.cpu
    names = {
        "name": name,
        "upper": name.upper(),
        "compiler": f"{FACTS[library.target.arch].tools}gcc",
        **_memory(library),
        "cpu": f"-mcpu={cpu} -mthumb {_floats(library.target)}".rstrip(),
    }
    texts = {
        f"{name}.h": library.header(True),
        "main.c": _MAIN.substitute(names),
        "startup.c": _STARTUP,
        "board.ld": _BOARD,
        "Makefile": _MAKEFILE.substitute(names),
    }
    files = {f"{name}.o": data, **{file: text.encode() for file, text in texts.items()}}
    for file, content in files.items():
        with replacing(path / file, "the model") as unfinished:
            unfinished.write_bytes(content)
    return path / f"{name}.h"


def _memory(library: StaticLibrary) -> dict[str, str]:
    """C for the memory of inputs and outputs."""
    lines, made = [], {}
    for what, infos in (("input", library.inputs), ("output", library.outputs)):
        count = range(len(infos))
        upper = f"{library.name.upper()}_{what.upper()}"
        lines += [
            f"static _Alignas(8) unsigned char {what}{i}[{upper}_{i}_BYTES]; /* {infos[i]} */"
            for i in count
        ]
        made[f"{what}s"] = ", ".join(f"{{{what}{i}, sizeof {what}{i}}}" for i in count) or "{0, 0}"
    return {"memory": "\n".join(lines), **made}


def _floats(target: LLVMTarget) -> str:
    unit = _FLOATS.get(target.cpu)
    if unit is None:
        return "-mfloat-abi=soft"
    return f"{unit} -mfloat-abi={'hard' if target.triple.endswith('hf') else 'softfp'}"


def require_room(library: StaticLibrary, sizes: SectionSizes, ram: int, flash: int) -> None:
    """Refuse a model that needs more than `ram` bytes that are written, or `flash` bytes that are
    not."""
    weights = library.weights.size
    constant = sizes.code + sizes.constants
    parts = f"{sizes.code:,} bytes of code, {weights:,} of weights"
    if 0 < flash < constant:
        raise RelayError(
            f"the model takes {constant:,} bytes of flash, {parts}, and there are {flash:,}"
        )
    if 0 < ram < sizes.written:
        raise RelayError(
            f"the model takes {sizes.written:,} bytes of RAM, an arena of {library.arena:,} in "
            f"them, and there are {ram:,}; relay.compile(…, memory=…) computes values again to "
            "need less"
        )


_MAKEFILE: Final = Template("""\
# Builds `$name.elf`, which runs the model on QEMU's board; $name.o and $name.h serve others too.
CC = $compiler
CPU = $cpu
CFLAGS = -Os -Wall -Wextra -ffreestanding

$name.elf: main.c startup.c $name.o $name.h board.ld
	$$(CC) $$(CPU) $$(CFLAGS) -nostdlib -T board.ld -o $$@ main.c startup.c $name.o -lgcc

# reads input0, input1, ... and writes output0, ... in this folder
run: $name.elf
	qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel $name.elf

clean:
	rm -f $name.elf

.PHONY: run clean
""")

_MAIN: Final = Template("""\
/* Runs the model on files of the debugger's machine: reads input0, input1, ..., where there are
   such, and writes output0, ... */
#include <stddef.h>
#include "$name.h"

enum { OPEN = 1, CLOSE = 2, PRINT = 4, WRITE = 5, READ = 6, EXIT = 24, EXIT_EXTENDED = 32 };

/* A call of the debugger (semihosting). */
static int debugger(int call, const void *given) {
  register int result __asm__("r0") = call;
  register const void *where __asm__("r1") = given;
  __asm__ volatile("bkpt 0xab" : "+r"(result) : "r"(where) : "memory");
  return result;
}

__attribute__((noreturn)) static void leave(int status) {
  const int how[] = {0x20026, status};
  debugger(EXIT_EXTENDED, how);
  for (;;) {}
}

static int file(char *name, int number, int mode) {
  size_t end = 0;
  while (name[end + 1]) end++;
  name[end] = (char)('0' + number);
  const struct {
    const char *name;
    int mode;
    size_t length;
  } given = {name, mode, end + 1};
  return debugger(OPEN, &given);
}

static int transfer(int call, int file, void *data, size_t bytes) {
  const struct {
    int file;
    void *data;
    size_t bytes;
  } given = {file, data, bytes};
  const int left = debugger(call, &given);
  debugger(CLOSE, &file);
  return left;
}

typedef struct {
  void *data;
  size_t bytes;
} place;

$memory
static const place inputs[] = {$inputs};
static const place outputs[] = {$outputs};

int main(void) {
  const void *given[${upper}_INPUTS + 1];
  void *made[${upper}_OUTPUTS + 1];
  for (int i = 0; i < ${upper}_INPUTS; i++) {
    char name[] = "input0";
    given[i] = inputs[i].data;
    const int opened = file(name, i, 1);
    if (opened >= 0 && transfer(READ, opened, inputs[i].data, inputs[i].bytes)) leave(2);
  }
  for (int i = 0; i < ${upper}_OUTPUTS; i++) made[i] = outputs[i].data;
  const int status = ${name}_run(given, made);
  if (status) {
    debugger(PRINT, ${name}_error(status));
    leave(status);
  }
  for (int i = 0; i < ${upper}_OUTPUTS; i++) {
    char name[] = "output0";
    const int opened = file(name, i, 5);
    if (opened < 0 || transfer(WRITE, opened, outputs[i].data, outputs[i].bytes)) leave(3);
  }
  leave(0);
}
""")

_STARTUP: Final = """\
/* What a Cortex-M begins with, and the functions that compilers expect without a C library. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t stack_top, data_begin, data_end, data_stored, bss_begin, bss_end;
int main(void);

__attribute__((noreturn)) static void stop(void) {
  for (;;) {}
}

__attribute__((noreturn)) static void reset(void) {
  *(volatile uint32_t *)0xe000ed88 |= 0xf << 20; /* the unit for floats, where there is one */
  __asm__ volatile("dsb\\n\\tisb");
  const uint32_t *from = &data_stored;
  for (uint32_t *to = &data_begin; to < &data_end;) *to++ = *from++;
  for (uint32_t *to = &bss_begin; to < &bss_end;) *to++ = 0;
  main();
  stop();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (void *)reset, (void *)stop, (void *)stop, (void *)stop, (void *)stop, (void *)stop,
};

__attribute__((weak, optimize("no-tree-loop-distribute-patterns")))
void *memcpy(void *to, const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

__attribute__((weak, optimize("no-tree-loop-distribute-patterns")))
void *memmove(void *to, const void *from, size_t bytes) {
  if ((uintptr_t)to <= (uintptr_t)from) return memcpy(to, from, bytes);
  while (bytes--) ((char *)to)[bytes] = ((const char *)from)[bytes];
  return to;
}

__attribute__((weak, optimize("no-tree-loop-distribute-patterns")))
void *memset(void *to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = (char)value;
  return to;
}

/* The same by the names of ARM's run-time ABI, for memory of any alignment. */
#define ALIGNED(name, parameters, call) \\
  __attribute__((weak)) void name parameters { call; } \\
  __attribute__((weak)) void name##4 parameters { call; } \\
  __attribute__((weak)) void name##8 parameters { call; }
ALIGNED(__aeabi_memcpy, (void *to, const void *from, size_t bytes), memcpy(to, from, bytes))
ALIGNED(__aeabi_memmove, (void *to, const void *from, size_t bytes), memmove(to, from, bytes))
ALIGNED(__aeabi_memset, (void *to, size_t bytes, int value), memset(to, value, bytes))
ALIGNED(__aeabi_memclr, (void *to, size_t bytes), memset(to, 0, bytes))
"""

_BOARD: Final = """\
/* The memory of the board MPS2 with the image AN386. */
MEMORY {
  flash (rx) : ORIGIN = 0x00000000, LENGTH = 4M
  ram (rwx) : ORIGIN = 0x20000000, LENGTH = 4M
}
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > flash
  .ARM.exidx : { *(.ARM.exidx*) } > flash
  data_stored = LOADADDR(.data);
  .data : { data_begin = .; *(.data*) . = ALIGN(4); data_end = .; } > ram AT > flash
  .bss : { bss_begin = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > ram
  stack_top = ORIGIN(ram) + LENGTH(ram);
}
"""
