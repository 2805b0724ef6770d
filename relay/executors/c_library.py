"""The text of a model as a C library: the functions of its header in LLVM IR, and the header.

What `create` makes is one block of memory, laid out like a frame of `relay.executors.native`:

     0  the context            64 bytes
    64  loaded weights         a block of their own; null when they are inside the library
    72  the frame              8 bytes a slot: inputs, outputs, constants, stretches of the arena
     …  the arena              aligned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Final

from relay.target import abi

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
LOADED: Final = abi.CONTEXT_SIZE
FRAME: Final = LOADED + 8


def functions_text(names: Mapping[str, object]) -> str:
    """`create`, `run`, `destroy` and `error`; `names` is what the template leaves open."""
    return _FUNCTIONS.substitute(
        names,
        frame=FRAME,
        loaded=LOADED,
        out_of_memory=abi.OUT_OF_MEMORY,
        unreadable=UNREADABLE,
        other_weights=OTHER_WEIGHTS,
        last_message=len(MESSAGES),
    )


def header_text(names: Mapping[str, object]) -> str:
    """The C header."""
    return _HEADER.substitute(names)


def table_text(calls: Sequence[tuple[str, Sequence[int]]]) -> str:
    """The table the runtime walks through: kernels, and the slots of their arguments."""
    lines = [f"declare i32 @{name}(ptr, ptr)" for name in dict(calls)]
    entries = []
    for number, (name, slots) in enumerate(calls):
        indices = ", ".join(f"i32 {slot}" for slot in slots)
        values = f"[{len(slots)} x i32] [{indices}]"
        lines.append(f"@relay_slots_{number} = internal constant {values}")
        fields = f"ptr @{name}, ptr @relay_slots_{number}, i64 {len(slots)}"
        entries.append(f"{{ ptr, ptr, i64 }} {{ {fields} }}")
    body = f"[{', '.join(entries)}]" if entries else "zeroinitializer"
    kind = f"[{len(entries)} x {{ ptr, ptr, i64 }}]"
    return "\n".join([*lines, f"@relay_table = internal constant {kind} {body}", ""])


def pairs_text(name: str, pairs: Sequence[tuple[int, int]]) -> str:
    """A table of pairs of numbers."""
    numbers = ", ".join(f"i64 {number}" for pair in pairs for number in pair)
    body = f"[{numbers}]" if pairs else "zeroinitializer"
    return f"@{name} = internal constant [{2 * len(pairs)} x i64] {body}\n"


def weights_text(file: Path | None) -> str:
    """The weights as data of the library, taken from a file by the assembler."""
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
    code = "\n".join(f'module asm "{line}"' for line in lines)
    return f"{code}\n@relay_weights = external hidden constant i8\n"


def messages_text() -> str:
    """What a status means, by number."""
    lines = []
    for status, message in {**MESSAGES, len(MESSAGES): "unknown status"}.items():
        size = len(message.encode()) + 1
        text = f'c"{message}\\00"'
        lines.append(f"@relay_message_{status} = internal constant [{size} x i8] {text}")
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
declare i32 @relay_pool_stop()

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
  ; its threads end, so that the library can be unloaded; another model starts new ones
  %busy = call i32 @relay_pool_stop()
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
