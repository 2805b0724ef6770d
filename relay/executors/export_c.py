"""A compiled model for programs in C: an object file, an archive or a shared library, and a header.

    exe.export("net.o")                        net.o, net.h          weights inside
    exe.export("net.a", embed=False)           net.a, net.h, net.weights

    net *model;
    int status = net_create(&model, NULL, 0);
    if (!status) status = net_run(model, inputs, outputs);
    if (status) puts(net_error(status));
    net_destroy(model);

Kernels, the runtime and the functions of the header are one LLVM module, of which only those
functions are seen from outside. It needs the C library and POSIX threads, nothing of Relay.

What `create` makes is one block of memory: the context, the frame and the arena, as in
`relay.executors.native`. Which slot of the frame holds which part of the arena or of the weights is
written in tables.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

import numpy as np

from relay.errors import RelayError
from relay.executors.arrays import TensorInfo
from relay.executors.executable import Executable
from relay.native import pool
from relay.native.runtime import runtime_texts
from relay.program.plan import ALIGNMENT, Arena, InConstant
from relay.program.text import to_text
from relay.safetensors import array_to_bytes
from relay.target import abi
from relay.target.llvm.compile import compile_module
from relay.target.target import Target

KINDS: Final = ("object", "archive", "shared")

# What the functions give besides the codes of `relay.target.abi`.
UNREADABLE: Final = 4
OTHER_WEIGHTS: Final = 5
NO_WEIGHTS: Final = 6
MESSAGES: Final = {
    0: "everything is fine",
    abi.OUT_OF_RANGE: "an index is out of range",
    abi.INTERRUPTED: "the call was interrupted",
    abi.OUT_OF_MEMORY: "there is not enough memory",
    UNREADABLE: "the file of weights cannot be read",
    OTHER_WEIGHTS: "the file of weights belongs to another model",
    NO_WEIGHTS: "the weights are not inside; name their file",
}

IMPORTS: Final = frozenset({"posix_memalign", "free", "fopen", "fread", "fclose"})
HEADER_SIZE: Final = ALIGNMENT  # of the file of weights: what it belongs to


def export(
    exe: Executable, path: Path, kind: str, *, name: str | None = None, embed: bool = True
) -> Path:
    """Write the library to `path` and the header beside it, which is returned."""
    if kind not in KINDS:
        raise RelayError(f"a model is exported as {', '.join(KINDS)}, not as {kind!r}")
    if any(not kernel.ir for kernel in exe.program.kernels):
        raise RelayError("a loaded executable has no code to link; export where it is compiled")
    name = identifier(path.stem.removeprefix("lib")) if name is None else name
    if identifier(name) != name:
        raise RelayError(f"{name!r} is no name in C")
    target = exe.code.target
    if embed and target.arch != Target.host().arch:
        raise RelayError(f"weights go into a file of their own for {target.arch}: embed=False")
    library = _Library(exe, name)
    weights = library.weights()
    try:
        with tempfile.TemporaryDirectory() as folder:
            embedded = None
            if embed and weights:
                embedded = Path(folder) / "weights"
                embedded.write_bytes(weights)
            data = library.object(embedded)
            if kind == "shared":
                made = Path(folder) / "model.o"
                made.write_bytes(data)
                _link(made, path, target)
            else:
                path.write_bytes(archive(data, library.functions) if kind == "archive" else data)
        if not embed:
            path.with_suffix(".weights").write_bytes(library.digest + weights)
        header = path.with_suffix(".h")
        header.write_text(library.header(embed))
    except OSError as error:
        raise RelayError(f"the model cannot be exported: {error}") from None
    return header


def identifier(text: str) -> str:
    """`text` as a name in C."""
    made = re.sub(r"\W", "_", text, flags=re.ASCII)
    return made if made and not made[0].isdigit() else f"model_{made}"


# --- the library ---------------------------------------------------------------------------------


@dataclass
class _Library:
    """The parts of an exported model."""

    exe: Executable
    name: str

    def __post_init__(self) -> None:
        self.main = self.exe.bound
        self.constants = self.exe.constants
        self.offsets: dict[str, int] = {}
        self.size = 0
        for name, tensor in self.constants.items():
            self.offsets[name] = self.size
            self.size += -(-tensor.array.nbytes // ALIGNMENT) * ALIGNMENT
        layout = f"{to_text(self.exe.program)}\n{self.offsets}"
        self.digest = hashlib.sha512(layout.encode()).digest()[:HEADER_SIZE]

    @property
    def functions(self) -> list[str]:
        return [f"{self.name}_{verb}" for verb in ("create", "run", "destroy", "error")]

    def weights(self) -> bytes:
        """The constants, one after the other, each aligned."""
        block = bytearray(self.size)
        for name, tensor in self.constants.items():
            data = array_to_bytes(np.ascontiguousarray(tensor.array))
            block[self.offsets[name] : self.offsets[name] + len(data)] = data
        return bytes(block)

    def object(self, embedded: Path | None) -> bytes:
        target = self.exe.code.target
        kernels = [kernel.ir for kernel in self.exe.program.kernels]
        texts = [*kernels, *runtime_texts(target), self.text(embedded)]
        imports = pool.imports(target) | IMPORTS
        return compile_module(texts, target, imports=imports, exports=self.functions)

    def text(self, embedded: Path | None) -> str:
        """The functions of the header, in LLVM IR."""
        frame = abi.CONTEXT_SIZE + 8  # behind the context and the address of loaded weights
        arena = -(-(frame + 8 * len(self.main.slots)) // ALIGNMENT) * ALIGNMENT
        slots = self.main.slots.items()
        in_arena = [(slot, arena + p.offset) for p, slot in slots if isinstance(p, Arena)]
        in_weights = [
            (slot, self.offsets[p.name]) for p, slot in slots if isinstance(p, InConstant)
        ]
        names = {
            "name": self.name,
            "size": arena + self.main.plan.arena + ALIGNMENT,
            "frame": frame,
            "loaded": abi.CONTEXT_SIZE,
            "inputs": self.main.inputs,
            "input_bytes": 8 * self.main.inputs,
            "output_bytes": 8 * self.main.outputs,
            "threads": self.main.threads,
            "calls": len(self.main.steps),
            "bytes": self.size,
            "header_size": HEADER_SIZE,
            "digest": "".join(f"\\{byte:02X}" for byte in self.digest),
            "in_arena": len(in_arena),
            "in_weights": len(in_weights),
            "out_of_memory": abi.OUT_OF_MEMORY,
            "unreadable": UNREADABLE,
            "other_weights": OTHER_WEIGHTS,
            "no_weights": NO_WEIGHTS if embedded is None and self.size else 0,
            "last_message": len(MESSAGES),
        }
        parts = [
            _embedding(embedded),
            self._table(),
            _pairs("relay_in_arena", in_arena),
            _pairs("relay_in_weights", in_weights),
            _messages(),
            _FUNCTIONS.substitute(names),
        ]
        return "\n".join(parts)

    def _table(self) -> str:
        lines = [f"declare i32 @{k.name}(ptr, ptr)" for k in self.exe.program.kernels]
        entries = []
        for number, (kernel, slots) in enumerate(
            zip(self.main.steps, self.main.arguments, strict=True)
        ):
            indices = ", ".join(f"i32 {slot}" for slot in slots)
            lines.append(
                f"@relay_slots_{number} = internal constant [{len(slots)} x i32] [{indices}]"
            )
            entries.append(
                f"{{ ptr, ptr, i64 }} {{ ptr @{kernel.name}, ptr @relay_slots_{number}, "
                f"i64 {len(slots)} }}"
            )
        body = f"[{', '.join(entries)}]" if entries else "zeroinitializer"
        kind = f"[{len(entries)} x {{ ptr, ptr, i64 }}]"
        lines.append(f"@relay_table = internal constant {kind} {body}")
        return "\n".join(lines) + "\n"

    def header(self, embed: bool) -> str:
        upper = self.name.upper()
        macros = [f"#define {upper}_THREADS {self.main.threads}"]
        for kind, infos in (("INPUT", self.exe.inputs), ("OUTPUT", self.exe.outputs)):
            macros.append(f"#define {upper}_{kind}S {len(infos)}")
            macros.extend(
                f"#define {upper}_{kind}_{number}_BYTES {info.nbytes}"
                for number, info in enumerate(infos)
            )
        return _HEADER.substitute(
            name=self.name,
            guard=f"{upper}_H",
            target=self.exe.code.target,
            macros="\n".join(macros),
            inputs=_described(self.exe.inputs),
            outputs=_described(self.exe.outputs),
            weights="NULL for those inside" if embed else f"{self.name}.weights",
        )


def _described(infos: Sequence[TensorInfo]) -> str:
    return "\n".join(f"     {number}  {info}" for number, info in enumerate(infos)) or "     none"


def _embedding(file: Path | None) -> str:
    """The weights as data of the library; the assembler takes them from a file."""
    if file is None:
        return "@relay_weights = internal constant [64 x i8] zeroinitializer, align 64\n"
    place = str(file).replace("\\", "\\5C").replace('"', "\\22")
    lines = [
        ".section .rodata.relay,\\22a\\22",
        ".balign 64",
        "relay_weights:",
        f".incbin \\22{place}\\22",
        ".text",
    ]
    return (
        "\n".join(f'module asm "{line}"' for line in lines)
        + "\n@relay_weights = external hidden constant i8\n"
    )


def _pairs(name: str, pairs: Sequence[tuple[int, int]]) -> str:
    numbers = ", ".join(f"i64 {number}" for pair in pairs for number in pair)
    body = f"[{numbers}]" if pairs else "zeroinitializer"
    return f"@{name} = internal constant [{2 * len(pairs)} x i64] {body}\n"


def _messages() -> str:
    lines = []
    for status, message in {**MESSAGES, len(MESSAGES): "unknown status"}.items():
        data = message.encode()
        lines.append(
            f'@relay_message_{status} = internal constant [{len(data) + 1} x i8] c"{message}\\00"'
        )
    table = ", ".join(f"ptr @relay_message_{status}" for status in range(len(MESSAGES) + 1))
    lines.append(f"@relay_messages = internal constant [{len(MESSAGES) + 1} x ptr] [{table}]")
    return "\n".join(lines) + "\n"


_FUNCTIONS: Final = Template("""
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare ptr @fopen(ptr, ptr)
declare i64 @fread(ptr, i64, i64, ptr)
declare i32 @fclose(ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare void @relay_context(ptr, i64)
declare i32 @relay_run(ptr, ptr, i64, ptr)

@relay_digest = internal constant [$header_size x i8] c"$digest"
@relay_mode = internal constant [3 x i8] c"rb\\00"

; slot -> base + offset, for every pair of a table
define internal void @relay_place(ptr %model, ptr %pairs, i64 %count, ptr %base) nounwind {
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pair = getelementptr { i64, i64 }, ptr %pairs, i64 %i
  %slot = load i64, ptr %pair
  %offset.at = getelementptr i64, ptr %pair, i64 1
  %offset = load i64, ptr %offset.at
  %address = getelementptr i8, ptr %base, i64 %offset
  %frame = getelementptr i8, ptr %model, i64 $frame
  %to = getelementptr ptr, ptr %frame, i64 %slot
  store ptr %address, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}

; the weights in a file: a digest of what they belong to, then the data
define internal i32 @relay_load(ptr %path, ptr %result) nounwind {
entry:
  %found = alloca [$header_size x i8]
  %file = call ptr @fopen(ptr %path, ptr @relay_mode)
  %missing = icmp eq ptr %file, null
  br i1 %missing, label %unreadable, label %opened
opened:
  %head = call i64 @fread(ptr %found, i64 1, i64 $header_size, ptr %file)
  %whole = icmp eq i64 %head, $header_size
  br i1 %whole, label %compare, label %other
compare:
  %difference = call i32 @memcmp(ptr %found, ptr @relay_digest, i64 $header_size)
  %same = icmp eq i32 %difference, 0
  br i1 %same, label %allocate, label %other
allocate:
  %size = call i64 @llvm.smax.i64(i64 $bytes, i64 64)
  %failed = call i32 @posix_memalign(ptr %result, i64 64, i64 %size)
  %got = icmp eq i32 %failed, 0
  br i1 %got, label %read, label %close
read:
  %block = load ptr, ptr %result
  %count = call i64 @fread(ptr %block, i64 1, i64 $bytes, ptr %file)
  %complete = icmp eq i64 %count, $bytes
  br i1 %complete, label %close, label %short
short:
  call void @free(ptr %block)
  br label %other
other:
  br label %close
close:
  %status = phi i32 [ $out_of_memory, %allocate ], [ 0, %read ], [ $other_weights, %other ]
  %closed = call i32 @fclose(ptr %file)
  ret i32 %status
unreadable:
  ret i32 $unreadable
}

define i32 @${name}_create(ptr %result, ptr %path, i32 %threads) nounwind {
entry:
  %loaded = alloca ptr
  store ptr null, ptr %loaded
  store ptr null, ptr %result
  %inside = icmp eq ptr %path, null
  br i1 %inside, label %embedded, label %file
embedded:
  br label %have
file:
  %read = call i32 @relay_load(ptr %path, ptr %loaded)
  br label %have
have:
  %status = phi i32 [ $no_weights, %embedded ], [ %read, %file ]
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %make, label %fail
make:
  %block = load ptr, ptr %loaded
  %weights = select i1 %inside, ptr @relay_weights, ptr %block
  %failed = call i32 @posix_memalign(ptr %result, i64 64, i64 $size)
  %got = icmp eq i32 %failed, 0
  br i1 %got, label %fill, label %drop
drop:
  call void @free(ptr %block)
  br label %fail
fail:
  %code = phi i32 [ %status, %have ], [ $out_of_memory, %drop ]
  ret i32 %code
fill:
  %model = load ptr, ptr %result
  %wide = sext i32 %threads to i64
  %all = icmp slt i64 %wide, 1
  %wanted = select i1 %all, i64 $threads, i64 %wide
  %most = call i64 @llvm.smin.i64(i64 %wanted, i64 $threads)
  call void @relay_context(ptr %model, i64 %most)
  %keep = getelementptr i8, ptr %model, i64 $loaded
  store ptr %block, ptr %keep
  call void @relay_place(ptr %model, ptr @relay_in_arena, i64 $in_arena, ptr %model)
  call void @relay_place(ptr %model, ptr @relay_in_weights, i64 $in_weights, ptr %weights)
  ret i32 0
}

define i32 @${name}_run(ptr %model, ptr %inputs, ptr %outputs) nounwind {
  %frame = getelementptr i8, ptr %model, i64 $frame
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %inputs, i64 $input_bytes, i1 false)
  %results = getelementptr ptr, ptr %frame, i64 $inputs
  call void @llvm.memcpy.p0.p0.i64(ptr %results, ptr %outputs, i64 $output_bytes, i1 false)
  %status = call i32 @relay_run(ptr %model, ptr @relay_table, i64 $calls, ptr %frame)
  ret i32 %status
}

define void @${name}_destroy(ptr %model) nounwind {
entry:
  %none = icmp eq ptr %model, null
  br i1 %none, label %done, label %some
some:
  %keep = getelementptr i8, ptr %model, i64 $loaded
  %loaded = load ptr, ptr %keep
  call void @free(ptr %loaded)
  call void @free(ptr %model)
  br label %done
done:
  ret void
}

define ptr @${name}_error(i32 %status) nounwind {
  %last = call i32 @llvm.umin.i32(i32 %status, i32 $last_message)
  %index = zext i32 %last to i64
  %at = getelementptr ptr, ptr @relay_messages, i64 %index
  %message = load ptr, ptr %at
  ret ptr %message
}
""")

_HEADER: Final = Template("""\
/* The model `$name`, compiled by Relay for $target. */
#ifndef $guard
#define $guard

#ifdef __cplusplus
extern "C" {
#endif

/* The most threads a call uses, and how many tensors of how many bytes go in and come out. */
$macros

typedef struct $name $name;

/* Make a model. `weights` is the name of the file of weights: $weights.
   `threads` is the most threads a call may use; 0 for ${name}_create to decide.
   Gives 0, and then *model must be destroyed, or a status that ${name}_error explains. */
int ${name}_create($name **model, const char *weights, int threads);

/* Run it. Tensors are dense, row by row, and each is aligned to its elements.
   Inputs, in this order:
$inputs
   Outputs, in memory of the caller's:
$outputs
   Gives 0 or a status. A model serves one thread at a time; make several to use several. */
int ${name}_run($name *model, const void *const inputs[], void *const outputs[]);

/* Free a model; NULL is fine. */
void ${name}_destroy($name *model);

/* What a status means. */
const char *${name}_error(int status);

#ifdef __cplusplus
}
#endif

#endif
""")


# --- files ---------------------------------------------------------------------------------------


def archive(data: bytes, symbols: Sequence[str]) -> bytes:
    """An `ar` archive of one object file, with the index linkers look symbols up in."""
    names = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    index_size = 4 + 4 * len(symbols) + len(names)
    begin = 8 + 60 + index_size + index_size % 2
    index = len(symbols).to_bytes(4, "big") + begin.to_bytes(4, "big") * len(symbols) + names
    return b"!<arch>\n" + _member("/", index) + _member("model.o/", data)


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)


def _link(made: Path, path: Path, target: Target) -> None:
    """A shared library of one object file, by the system's linker."""
    tools = [tool for tool in ("cc", "gcc", "clang", "ld") if shutil.which(tool)]
    if not tools or target.arch != Target.host().arch:
        raise RelayError(
            f"a shared library for {target.arch} needs a linker, and there is none here; "
            'export kind="object" or kind="archive", and link that'
        )
    threads = [] if tools[0] == "ld" else ["-pthread"]
    command = [tools[0], "-shared", *threads, "-o", str(path), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RelayError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
