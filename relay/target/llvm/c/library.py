"""The text of a straight-line model as a C library: `run` in LLVM IR, and the header.

What `create` makes is laid out like a frame of `relay.executors.bound`:

     0  the context            64 bytes
    64  loaded weights         a block of their own; null when they are inside the library
    72  the frame              8 bytes a slot: inputs, outputs, constants, stretches of the arena
     …  the arena              aligned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import Final

from relay.target.llvm import abi

LOADED: Final = abi.CONTEXT_SIZE
FRAME: Final = LOADED + 8


def functions_text(names: Mapping[str, object]) -> str:
    """`run`, and setting up a model; `names` is what the template leaves open."""
    return _FUNCTIONS.substitute(names, frame=FRAME)


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


_FUNCTIONS: Final = Template("""
declare i32 @relay_run(ptr, ptr, i64, ptr)

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

define internal void @relay_set_up(ptr %model, ptr %weights) nounwind {
  call void @relay_place(ptr %model, ptr @relay_in_arena, i64 $in_arena, ptr %model)
  call void @relay_place(ptr %model, ptr @relay_in_weights, i64 $in_weights, ptr %weights)
  ret void
}

define internal void @relay_tear_down(ptr %model) nounwind {
  ret void
}

define i32 @${name}_run(ptr %model, ptr %inputs, ptr %outputs) nounwind {
  %frame = getelementptr i8, ptr %model, i64 $frame
  call void @llvm.memcpy.p0.p0.i64(ptr %frame, ptr %inputs, i64 $input_bytes, i1 false)
  %results = getelementptr ptr, ptr %frame, i64 $inputs
  call void @llvm.memcpy.p0.p0.i64(ptr %results, ptr %outputs, i64 $output_bytes, i1 false)
  %status = call i32 @relay_run(ptr %model, ptr @relay_table, i64 $calls, ptr %frame)
  ret i32 %status
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
