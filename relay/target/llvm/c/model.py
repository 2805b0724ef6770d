"""What all models exported to C share, in LLVM IR: weights, `create`, `destroy`, `error`.

A model is one block of memory that begins with a context (`relay.target.llvm.abi`). The rest
depends on the kind of model, which defines:

    void relay_set_up(ptr model, ptr weights)      `library.py`, `program.py`
    void relay_tear_down(ptr model)
"""

from __future__ import annotations

import hashlib
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from relay.immutable import frozen
from relay.native import pool
from relay.native.notation import assemble
from relay.native.runtime import runtime_texts
from relay.program.plan import ALIGNMENT
from relay.program.program import Program
from relay.program.text import to_text
from relay.safetensors import array_to_bytes
from relay.target.llvm import abi
from relay.target.llvm.compile import compile_module
from relay.target.llvm.target import LLVMTarget
from relay.target.llvm.writer import escaped

# Statuses in addition to those of `relay.target.llvm.abi`.
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
HEADER_SIZE: Final = ALIGNMENT  # of the file of weights: the digest of the model


@frozen
class WeightBlock:
    """The constants of a program as one block, each aligned."""

    program: Program
    arrays: Mapping[str, np.ndarray]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """The offset of each constant."""
        found: dict[str, int] = {}
        end = 0
        for name, array in self.arrays.items():
            found[name] = end
            end += _aligned(array.nbytes)
        return found

    @property
    def size(self) -> int:
        return sum(_aligned(array.nbytes) for array in self.arrays.values())

    @cached_property
    def digest(self) -> bytes:
        """The digest of the program that the weights belong to."""
        layout = f"{to_text(self.program)}\n{self.offsets}"
        return hashlib.sha512(layout.encode()).digest()[:HEADER_SIZE]

    def data(self) -> bytes:
        """The bytes of the block."""
        block = bytearray(self.size)
        for name, array in self.arrays.items():
            data = array_to_bytes(np.ascontiguousarray(array))
            block[self.offsets[name] : self.offsets[name] + len(data)] = data
        return bytes(block)

    @cached_property
    def _mark(self) -> bytes:
        """What stands in an object file where the weights begin, until they are put there."""
        return hashlib.sha256(self.digest + b"weights").digest()

    def text(self, embed: bool) -> str:
        """Their place in the library: a mark and zeros, as a text of all numbers would be long."""
        if not embed or not self.size:
            return "@relay_weights = internal constant [64 x i8] zeroinitializer, align 64\n"
        mark = "".join(f"\\{byte:02X}" for byte in self._mark)
        kind = f"<{{ [{len(self._mark)} x i8], [{self.size - len(self._mark)} x i8] }}>"
        value = f'<{{ [{len(self._mark)} x i8] c"{mark}", '
        value += f"[{self.size - len(self._mark)} x i8] zeroinitializer }}>"
        return f"@relay_weights = internal constant {kind} {value}, align 64\n"

    def put_into(self, code: bytes) -> bytes:
        """An object file with the weights in their place, if it has one."""
        begin = code.find(self._mark)
        return code if begin < 0 else code[:begin] + self.data() + code[begin + self.size :]


def opening(name: str, target: LLVMTarget) -> str:
    """The first sentence of a header, in lines of a comment; targets may have long descriptions."""
    machine = str(target).replace(",", ", ")
    sentence = f"The model `{name}`, compiled by Relay for {machine}."
    return textwrap.fill(sentence, 100, subsequent_indent="   ", break_on_hyphens=False)


def weights_place(name: str, embed: bool) -> str:
    """The argument of `create` for the weights, for the header."""
    return "NULL for those inside" if embed else f"{name}.weights"


def initial_name(state: str) -> str:
    """The name of what a state begins with, among the weights."""
    return f"state {state}"


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass
class CLibrary(ABC):
    """A model exported to C. `constants` are those it reads, in order."""

    program: Program
    target: LLVMTarget
    constants: Mapping[str, np.ndarray]
    name: str
    threads: int

    verbs: ClassVar[tuple[str, ...]]  # suffixes of the exported functions
    messages: ClassVar[Mapping[int, str]] = MESSAGES  # by status

    @abstractmethod
    def object(self, embed: bool) -> bytes:
        """The object file, with the weights, or without any."""

    @abstractmethod
    def header(self, embed: bool) -> str:
        """The text of the header."""

    @property
    def functions(self) -> list[str]:
        """The exported functions."""
        return [f"{self.name}_{verb}" for verb in self.verbs]

    @cached_property
    def weights(self) -> WeightBlock:
        """The constants as a block."""
        return WeightBlock(self.program, self.constants)

    def weights_place(self, embed: bool) -> str:
        """The argument of `create` for the weights, for the header."""
        return weights_place(self.name, embed)

    def compiled(
        self, code: Sequence[str], text: str, imports: frozenset[str] = frozenset(), **options: Any
    ) -> bytes:
        """The object file of `code`, the runtime, and `text` with the exported functions."""
        imports = pool.imports(self.target) | IMPORTS | imports
        texts = [*code, *runtime_texts(self.target), text]
        data = compile_module(
            texts, self.target, imports=imports, exports=self.functions, **options
        )
        return self.weights.put_into(data)

    def model_text(self, embed: bool, *, size: int, loaded: int, most_threads: int) -> str:
        """`create`, `destroy` and `error`.

        A model has `size` bytes, with the address of weights read from a file at `loaded`, and uses
        at most `most_threads`.
        """
        names = {
            "name": self.name,
            "size": size,
            "loaded": loaded,
            "threads": self.threads,
            "most_threads": most_threads,
            "bytes": self.weights.size,
            "header_size": HEADER_SIZE,
            "digest": "".join(f"\\{byte:02X}" for byte in self.weights.digest),
            "no_weights": NO_WEIGHTS if self.weights.size and not embed else 0,
            "out_of_memory": abi.OUT_OF_MEMORY,
            "unreadable": UNREADABLE,
            "other_weights": OTHER_WEIGHTS,
        }
        error = error_text(self.name, self.messages)
        return "\n".join([self.weights.text(embed), assemble(_MODEL, names), error])


def error_text(name: str, messages: Mapping[int, str]) -> str:
    """The function that explains a status."""
    lines = [string_text(f"relay_meaning_{status}", text) for status, text in messages.items()]
    lines.append(string_text("relay_no_meaning", "unknown status"))
    lines.append(f"define ptr @{name}_error(i32 %status) nounwind {{")
    lines.append("  switch i32 %status, label %unknown [")
    lines += [f"    i32 {status}, label %known{status}" for status in messages]
    lines.append("  ]")
    lines += [f"known{status}:\n  ret ptr @relay_meaning_{status}" for status in messages]
    lines.append("unknown:\n  ret ptr @relay_no_meaning\n}\n")
    return "\n".join(lines)


def string_text(name: str, text: str) -> str:
    """A C string as a global."""
    data = text.encode() + b"\0"
    return f'@{name} = internal constant [{len(data)} x i8] c"{escaped(data)}"'


def array_text(name: str, kind: str, entries: Sequence[str]) -> str:
    """A constant array, as a global."""
    body = f"[{', '.join(entries)}]" if entries else "zeroinitializer"
    return f"@{name} = internal constant [{len(entries)} x {kind}] {body}\n"


_MODEL: Final = """
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare ptr @fopen(ptr, ptr)
declare i64 @fread(ptr, i64, i64, ptr)
declare i32 @fclose(ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare void @relay_context(ptr, i64)
declare i32 @relay_pool_stop()

@relay_digest = internal constant [$header_size x i8] c"$digest"
@relay_mode = internal constant [3 x i8] c"rb\\00"

; read the file of weights: a digest of the model, then the data
define internal i32 @relay_load(ptr %path, ptr %result) nounwind {
entry:
  %found = alloca [$header_size x i8]
  %file = call ptr @fopen(ptr %path, ptr @relay_mode)
  br eq ptr %file, null, label %unreadable, label %opened
opened:
  %head = call i64 @fread(ptr %found, i64 1, i64 $header_size, ptr %file)
  br eq i64 %head, $header_size, label %compare, label %other
compare:
  %difference = call i32 @memcmp(ptr %found, ptr @relay_digest, i64 $header_size)
  br eq i32 %difference, 0, label %allocate, label %other
allocate:
  %size = call i64 @llvm.smax.i64(i64 $bytes, i64 64)
  %failed = call i32 @posix_memalign(ptr %result, i64 64, i64 %size)
  br eq i32 %failed, 0, label %read, label %close
read:
  %block = load ptr, ptr %result
  %count = call i64 @fread(ptr %block, i64 1, i64 $bytes, ptr %file)
  br eq i64 %count, $bytes, label %close, label %short
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
  %made = alloca ptr
  store ptr null, ptr %loaded
  store ptr null, ptr %result ; native
  %inside = icmp eq ptr %path, null
  br i1 %inside, label %embedded, label %file
embedded:
  br label %have
file:
  %read = call i32 @relay_load(ptr %path, ptr %loaded)
  br label %have
have:
  %status = phi i32 [ $no_weights, %embedded ], [ %read, %file ]
  br eq i32 %status, 0, label %make, label %fail
make:
  %block = load ptr, ptr %loaded
  %weights = select i1 %inside, ptr @relay_weights, ptr %block
  %failed = call i32 @posix_memalign(ptr %made, i64 64, i64 $size)
  br eq i32 %failed, 0, label %fill, label %drop
drop:
  call void @free(ptr %block)
  br label %fail
fail:
  %code = phi i32 [ %status, %have ], [ $out_of_memory, %drop ]
  ret i32 %code
fill:
  %model = load ptr, ptr %made
  store ptr %model, ptr %result ; native
  call void @relay_set_up(ptr %model, ptr %weights)
  call void @relay_use_threads(ptr %model, i32 %threads)
  store ptr %block, ptr %model[$loaded]
  ret i32 0
}

; use `threads` threads, or for 0 as many as the model was compiled for
define internal void @relay_use_threads(ptr %model, i32 %threads) nounwind {
  %wide = sext i32 %threads to i64
  %all = icmp slt i64 %wide, 1
  %wanted = select i1 %all, i64 $threads, i64 %wide
  %most = call i64 @llvm.smin.i64(i64 %wanted, i64 $most_threads)
  call void @relay_context(ptr %model, i64 %most)
  ret void
}

define void @${name}_destroy(ptr %model) nounwind {
entry:
  br eq ptr %model, null, label %done, label %some
some:
  call void @relay_tear_down(ptr %model)
  %loaded = load ptr, ptr %model[$loaded]
  call void @free(ptr %loaded)
  call void @free(ptr %model)
  ; stop the threads, so that the library can be unloaded; another model starts new ones
  %busy = call i32 @relay_pool_stop()
  br label %done
done:
  ret void
}
"""
