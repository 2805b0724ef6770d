"""Straight-line models as C libraries: `run` in LLVM IR, and the header.

A model is laid out like a frame of `relay.executors.bound`:

     0  the context            64 bytes
    64  loaded weights         an allocated block; null for embedded weights
    72  the frame              8 bytes per slot: inputs, outputs, constants, parts of the arena
     …  state                  addresses of the current values, of the next ones, and of the weights
     …  the arena              aligned
     …  values of the state    two of each: a run reads one and writes the other
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar, Final

from relay.executors.arrays import TensorInfo
from relay.executors.bound import BoundFunction
from relay.native.notation import assemble
from relay.program.plan import ALIGNMENT, Arena, InConstant
from relay.program.program import MAIN
from relay.target.llvm import abi
from relay.target.llvm.c.model import CLibrary, array_text, initial_name, opening

LOADED: Final = abi.CONTEXT_SIZE
FRAME: Final = LOADED + 8


@dataclass
class StraightLibrary(CLibrary):
    """An exported straight-line model."""

    main: BoundFunction
    inputs: Sequence[TensorInfo]
    outputs: Sequence[TensorInfo]

    verbs: ClassVar[tuple[str, ...]] = ("create", "run", "destroy", "error")

    @property
    def functions(self) -> list[str]:
        return [*super().functions, *([f"{self.name}_reset"] if self.state else [])]

    @property
    def state(self) -> tuple[str, ...]:
        """The names of the state."""
        return self.program[MAIN].state

    def object(self, embed: bool) -> bytes:
        return self.compiled([kernel.ir for kernel in self.program.kernels], self.text(embed))

    def text(self, embed: bool) -> str:
        """The exported functions and their tables, in LLVM IR."""
        main = self.main
        kept, slots = len(self.state), len(main.slots)
        ends = [FRAME + 8 * slots, FRAME + 8 * (slots + 2 * kept + 1)]
        arena = -(-ends[kept > 0] // ALIGNMENT) * ALIGNMENT
        places = main.slots.items()
        offsets = self.weights.offsets
        in_arena = [(slot, arena + p.offset) for p, slot in places if isinstance(p, Arena)]
        in_weights = [(slot, offsets[p.name]) for p, slot in places if isinstance(p, InConstant)]
        # the arena has workspaces for this many threads
        end, most = arena + -(-main.plan.arena // ALIGNMENT) * ALIGNMENT, self.threads
        values: list[tuple[int, int]] = []  # slot and offset of the two values of each state
        initial: list[tuple[int, int]] = []  # offset among the weights, and bytes
        for number, name in enumerate((*self.state, *self.state)):
            bytes_of_it = self.constants[initial_name(name)].nbytes
            values.append((slots + number, end))
            initial.append((offsets[initial_name(name)], bytes_of_it))
            end += -(-bytes_of_it // ALIGNMENT) * ALIGNMENT
        size = end + ALIGNMENT
        names: dict[str, Any] = {
            "frame": FRAME,
            "run": f"{self.name}_run",
            "reset": f"{self.name}_reset",
            "arena_base": "%model",
            "inputs": main.inputs,
            "input_count": main.inputs - kept,
            "output_count": main.outputs - kept,
            "calls": len(main.calls),
            "in_arena": len(in_arena),
            "in_weights": len(in_weights),
        }
        return "\n".join(
            [
                self.model_text(embed, size=size, loaded=LOADED, most_threads=most),
                table_text([(call.kernel.name, call.slots) for call in main.calls]),
                pairs_text("relay_in_arena", in_arena),
                pairs_text("relay_in_weights", in_weights),
                assemble(FUNCTIONS, names),
                *(self._state_text(values, initial[:kept], names) if kept else [NO_STATE]),
            ]
        )

    def _state_text(
        self, values: list[tuple[int, int]], initial: list[tuple[int, int]], names: dict[str, Any]
    ) -> list[str]:
        """The functions of a model with state; the `values` lie in the model, those they begin with
        among the weights."""
        main, kept = self.main, len(initial)
        current = FRAME + 8 * len(main.slots)
        more = {
            "kept": kept,
            "kept_bytes": 8 * kept,
            "values": 2 * kept,
            "current": current,
            "next": current + 8 * kept,
            "weights_at": current + 16 * kept,
            "state_in": FRAME + 8 * (main.inputs - kept),
            "state_out": FRAME + 8 * (main.inputs + main.outputs - kept),
        }
        tables = [pairs_text("relay_values", values), pairs_text("relay_initial", initial)]
        return [*tables, assemble(STATE, names | more)]

    def header(self, embed: bool) -> str:
        return straight_header(
            self.name,
            opening(self.name, self.target),
            self.inputs,
            self.outputs,
            bool(self.state),
            threads=self.threads,
            weights=self.weights_place(embed),
        )


def straight_header(
    name: str,
    opening: str,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    has_state: bool,
    *,
    threads: int,
    weights: str,
) -> str:
    """The header of a straight-line model; `weights` is the argument of `create` for them."""
    upper = name.upper()
    macros = [f"#define {upper}_THREADS {threads}"]
    for kind, infos in (("INPUT", inputs), ("OUTPUT", outputs)):
        macros.append(f"#define {upper}_{kind}S {len(infos)}")
        macros.extend(
            f"#define {upper}_{kind}_{number}_BYTES {info.nbytes}"
            for number, info in enumerate(infos)
        )
    return _HEADER.substitute(
        name=name,
        guard=f"{upper}_H",
        opening=opening,
        macros="\n".join(macros),
        inputs=described(inputs),
        outputs=described(outputs),
        weights=weights,
        reset=_RESET.substitute(name=name) if has_state else "",
    )


def described(infos: Sequence[TensorInfo]) -> str:
    """Tensors, numbered, for the header."""
    return "\n".join(f"     {number}  {info}" for number, info in enumerate(infos)) or "     none"


def table_text(calls: Sequence[tuple[str, Sequence[int]]]) -> str:
    """The table of kernel calls: kernels, and the slots of their arguments."""
    lines = [f"declare i32 @{name}(ptr, ptr)" for name in dict(calls)]
    entries = []
    for number, (name, slots) in enumerate(calls):
        indices = ", ".join(f"i32 {slot}" for slot in slots)
        values = f"[{len(slots)} x i32] [{indices}]"
        lines.append(f"@relay_slots_{number} = internal constant {values}")
        fields = f"ptr @{name}, ptr @relay_slots_{number}, i64 {len(slots)}"
        entries.append(f"{{ ptr, ptr, i64 }} {{ {fields} }}")
    return "\n".join([*lines, array_text("relay_table", "{ ptr, ptr, i64 }", entries)])


def pairs_text(name: str, pairs: Sequence[tuple[int, int]]) -> str:
    """A table of pairs of numbers."""
    return array_text(name, "i64", [f"i64 {number}" for pair in pairs for number in pair])


FUNCTIONS: Final = """
declare i32 @relay_run(ptr, ptr, i64, ptr)

; store base + offset in the slot, for every pair of a table
define internal void @relay_place(ptr %model, ptr %pairs, i64 %count, ptr %base) nounwind {
entry:
  br sgt i64 %count, 0, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pair = getelementptr { i64, i64 }, ptr %pairs, i64 %i
  %slot = load i64, ptr %pair
  %offset = load i64, ptr %pair[i64 1]
  %address = getelementptr i8, ptr %base, i64 %offset
  %frame = getelementptr i8, ptr %model, i64 $frame
  store ptr %address, ptr %frame[ptr %slot]
  %next = add i64 %i, 1
  br slt i64 %next, %count, label %loop, label %done
done:
  ret void
}

define internal void @relay_set_up(ptr %model, ptr %weights) nounwind {
  call void @relay_place(ptr %model, ptr @relay_in_arena, i64 $in_arena, ptr $arena_base)
  call void @relay_place(ptr %model, ptr @relay_in_weights, i64 $in_weights, ptr %weights)
  call void @relay_begin(ptr %model, ptr %weights)
  ret void
}

define internal void @relay_tear_down(ptr %model) nounwind {
  ret void
}

; copy pointers of the caller's into slots
define internal void @relay_take(ptr %slots, ptr %given, i64 %count) nounwind {
entry:
  br sgt i64 %count, 0, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr ptr, ptr %given, i64 %i ; native
  %pointer = load ptr, ptr %at ; native
  store ptr %pointer, ptr %slots[i64 %i]
  %next = add i64 %i, 1
  br slt i64 %next, %count, label %loop, label %done
done:
  ret void
}

define i32 @$run(ptr %model, ptr %inputs, ptr %outputs) nounwind {
  %frame = getelementptr i8, ptr %model, i64 $frame
  call void @relay_take(ptr %frame, ptr %inputs, i64 $input_count)
  %results = getelementptr i64, ptr %frame, i64 $inputs
  call void @relay_take(ptr %results, ptr %outputs, i64 $output_count)
  call void @relay_before(ptr %model)
  %status = call i32 @relay_run(ptr %model, ptr @relay_table, i64 $calls, ptr %frame)
  call void @relay_after(ptr %model, i32 %status)
  ret i32 %status
}
"""

STATE: Final = """
define internal void @relay_begin(ptr %model, ptr %weights) nounwind {
  store ptr %weights, ptr %model[$weights_at]
  call void @relay_place(ptr %model, ptr @relay_values, i64 $values, ptr %model)
  call void @$reset(ptr %model)
  ret void
}

define void @$reset(ptr %model) nounwind {
entry:
  %weights = load ptr, ptr %model[$weights_at]
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pair = getelementptr { i64, i64 }, ptr @relay_initial, i64 %i
  %offset = load i64, ptr %pair
  %bytes = load i64, ptr %pair[i64 1]
  %from = getelementptr i8, ptr %weights, i64 %offset
  %current = getelementptr i8, ptr %model, i64 $current
  %to = load ptr, ptr %current[ptr %i]
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  %next = add i64 %i, 1
  br ult i64 %next, $kept, label %loop, label %done
done:
  ret void
}

define internal void @relay_before(ptr %model) nounwind {
  %current = getelementptr i8, ptr %model, i64 $current
  %following = getelementptr i8, ptr %model, i64 $next
  %in = getelementptr i8, ptr %model, i64 $state_in
  %out = getelementptr i8, ptr %model, i64 $state_out
  call void @llvm.memcpy.p0.p0.i64(ptr %in, ptr %current, i64 $kept_bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %following, i64 $kept_bytes, i1 false)
  ret void
}

; after a run that succeeded, the next values are the current ones
define internal void @relay_after(ptr %model, i32 %status) nounwind {
entry:
  br eq i32 %status, 0, label %exchange, label %done
exchange:
  %current = getelementptr i8, ptr %model, i64 $current
  %following = getelementptr i8, ptr %model, i64 $next
  %in = getelementptr i8, ptr %model, i64 $state_in
  %out = getelementptr i8, ptr %model, i64 $state_out
  call void @llvm.memcpy.p0.p0.i64(ptr %current, ptr %out, i64 $kept_bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %following, ptr %in, i64 $kept_bytes, i1 false)
  br label %done
done:
  ret void
}
"""

NO_STATE: Final = """
define internal void @relay_begin(ptr %model, ptr %weights) alwaysinline nounwind {
  ret void
}
define internal void @relay_before(ptr %model) alwaysinline nounwind {
  ret void
}
define internal void @relay_after(ptr %model, i32 %status) alwaysinline nounwind {
  ret void
}
"""

_RESET: Final = Template("""\
/* Set the state, which the model keeps from one run to the next, back to what it was when the model
   was exported. A run that fails leaves the state as it was. */
void ${name}_reset($name *model);

""")

_HEADER: Final = Template("""\
/* $opening */
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

$reset/* Free a model; NULL is fine. */
void ${name}_destroy($name *model);

/* What a status means. */
const char *${name}_error(int status);

#ifdef __cplusplus
}
#endif

#endif
""")
