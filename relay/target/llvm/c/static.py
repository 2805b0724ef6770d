"""Straight-line models for machines without an operating system, in LLVM IR: microcontrollers and
WebAssembly.

Nothing is allocated: there is one model, in memory whose size the header tells, and one thread.

    relay_arena      intermediate results
    relay_model      the context, and the addresses of all tensors (`library.py`)
    relay_weights    constants

The first run, or `reset`, fills in the addresses. Besides `run`, which takes the caller's memory,
there may be memory for inputs and outputs inside, with `call`, which runs on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar, Final

from relay.executors.arrays import TensorInfo
from relay.native.notation import assemble
from relay.native.runtime import runtime_texts
from relay.program.plan import ALIGNMENT, Arena, InConstant
from relay.target.llvm.c.library import (
    FRAME,
    FUNCTIONS,
    NO_STATE,
    StraightLibrary,
    described,
    pairs_text,
    table_text,
)
from relay.target.llvm.c.model import error_text, initial_name, opening
from relay.target.llvm.compile import compile_module


@dataclass
class StaticLibrary(StraightLibrary):
    """A model in static memory; with `buffers` also memory for what goes in and comes out."""

    buffers: bool = False

    verbs: ClassVar[tuple[str, ...]] = ("run", "error")

    @property
    def functions(self) -> list[str]:
        more = ("call", "input", "output") if self.buffers else ()
        return [*super().functions, *(f"{self.name}_{verb}" for verb in more)]

    @property
    def arena(self) -> int:
        """The bytes of intermediate results."""
        return _aligned(self.main.plan.arena)

    @property
    def model(self) -> int:
        """The bytes of addresses, and of the state."""
        kept = [self.constants[initial_name(name)].nbytes for name in self.state]
        words = len(self.main.slots) + 2 * len(kept) + 1
        return _aligned(FRAME + 8 * words) + 2 * sum(map(_aligned, kept))

    @property
    def places(self) -> list[int]:
        """Where inputs and outputs begin in the memory inside, and where it ends."""
        found = [0]
        for info in (*self.inputs, *self.outputs):
            found.append(found[-1] + _aligned(info.nbytes))
        return found

    @property
    def memory(self) -> int:
        """All bytes that the model writes."""
        return self.arena + self.model + (self.places[-1] if self.buffers else 0)

    def object(self, embed: bool) -> bytes:
        texts = [*(kernel.ir for kernel in self.program.kernels if kernel.name in self._called)]
        texts += [*runtime_texts(self.target), self.text(embed)]
        data = compile_module(texts, self.target, exports=self.functions)
        return self.weights.put_into(data)

    @property
    def _called(self) -> set[str]:
        return {call.kernel.name for call in self.main.calls}

    def text(self, embed: bool) -> str:
        main, kept = self.main, len(self.state)
        places = main.slots.items()
        offsets = self.weights.offsets
        in_arena = [(slot, p.offset) for p, slot in places if isinstance(p, Arena)]
        in_weights = [(slot, offsets[p.name]) for p, slot in places if isinstance(p, InConstant)]
        values: list[tuple[int, int]] = []
        initial: list[tuple[int, int]] = []
        end = _aligned(FRAME + 8 * (len(main.slots) + 2 * kept + 1))
        for number, name in enumerate((*self.state, *self.state)):
            size = self.constants[initial_name(name)].nbytes
            values.append((len(main.slots) + number, end))
            initial.append((offsets[initial_name(name)], size))
            end += _aligned(size)
        names: dict[str, Any] = {
            "frame": FRAME,
            "name": self.name,
            "run": "relay_run_on",
            "reset": "relay_reset_model",
            "arena_base": "@relay_arena",
            "inputs": main.inputs,
            "input_count": main.inputs - kept,
            "output_count": main.outputs - kept,
            "calls": len(main.calls),
            "in_arena": len(in_arena),
            "in_weights": len(in_weights),
            "arena": max(1, self.arena),
            "model": self.model,
        }
        state = self._state_text(values, initial[:kept], names) if kept else [NO_STATE]
        return "\n".join(
            [
                self.weights.text(embed),
                table_text([(call.kernel.name, call.slots) for call in main.calls]),
                pairs_text("relay_in_arena", in_arena),
                pairs_text("relay_in_weights", in_weights),
                assemble(_STATIC, names),
                assemble(FUNCTIONS, names),
                *state,
                *([assemble(_RESET, names)] if kept else []),
                *([self._buffers_text()] if self.buffers else []),
                error_text(self.name, self.messages),
            ]
        )

    def _buffers_text(self) -> str:
        """Memory for inputs and outputs, and functions to find and use it."""
        count = len(self.inputs)
        return assemble(
            _BUFFERS,
            {
                "name": self.name,
                "bytes": max(1, self.places[-1]),
                "starts": ", ".join(f"i64 {place}" for place in self.places),
                "count": len(self.places),
                "inputs": count,
                "outputs": len(self.outputs),
                "all": max(1, count + len(self.outputs)),
            },
        )

    def header(self, embed: bool) -> str:
        upper = self.name.upper()
        macros = [
            f"#define {upper}_MEMORY_BYTES {self.memory}",
            f"#define {upper}_ARENA_BYTES {self.arena}",
            f"#define {upper}_WEIGHT_BYTES {self.weights.size}",
        ]
        for kind, infos in (("INPUT", self.inputs), ("OUTPUT", self.outputs)):
            macros.append(f"#define {upper}_{kind}S {len(infos)}")
            macros += [f"#define {upper}_{kind}_{n}_BYTES {i.nbytes}" for n, i in enumerate(infos)]
        return _HEADER.substitute(
            name=self.name,
            guard=f"{upper}_H",
            opening=opening(self.name, self.target),
            macros="\n".join(macros),
            inputs=described(self.inputs),
            outputs=described(self.outputs),
            reset=f"void {self.name}_reset(void);\n" if self.state else "",
        )


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def tensors_text(infos: Sequence[TensorInfo]) -> list[dict[str, Any]]:
    """Names, shapes and element types, as JSON."""
    return [{"name": i.name, "shape": list(i.shape), "dtype": i.dtype} for i in infos]


_STATIC: Final = f"""
@relay_arena = internal global [$arena x i8] zeroinitializer, align {ALIGNMENT}
@relay_model = internal global [$model x i8] zeroinitializer, align {ALIGNMENT}
@relay_ready = internal global i32 0

declare void @relay_context(ptr, i64)

define internal void @relay_prepare_model() nounwind {{
entry:
  %ready = load i32, ptr @relay_ready
  br ne i32 %ready, 0, label %done, label %first
first:
  call void @relay_context(ptr @relay_model, i64 1)
  call void @relay_set_up(ptr @relay_model, ptr @relay_weights)
  store i32 1, ptr @relay_ready
  br label %done
done:
  ret void
}}

define i32 @${{name}}_run(ptr %inputs, ptr %outputs) nounwind {{
  call void @relay_prepare_model()
  %status = call i32 @relay_run_on(ptr @relay_model, ptr %inputs, ptr %outputs)
  ret i32 %status
}}
"""

_RESET: Final = """
define void @${name}_reset() nounwind {
  call void @relay_prepare_model()
  call void @relay_reset_model(ptr @relay_model)
  ret void
}
"""

_BUFFERS: Final = f"""
@relay_buffers = internal global [$bytes x i8] zeroinitializer, align {ALIGNMENT}
@relay_starts = internal constant [$count x i64] [$starts]

define internal ptr @relay_buffer(i64 %number) nounwind {{
  %start = load i64, ptr @relay_starts[i64 %number]
  %address = getelementptr i8, ptr @relay_buffers, i64 %start
  ret ptr %address
}}

define ptr @${{name}}_input(i32 %number) nounwind {{
  %wide = zext i32 %number to i64
  %address = call ptr @relay_buffer(i64 %wide)
  ret ptr %address
}}

define ptr @${{name}}_output(i32 %number) nounwind {{
  %wide = zext i32 %number to i64
  %after = add i64 %wide, $inputs
  %address = call ptr @relay_buffer(i64 %after)
  ret ptr %address
}}

define i32 @${{name}}_call() nounwind {{
entry:
  %given = alloca [$all x ptr] ; native
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %place ]
  br slt i64 %i, $all, label %place, label %run
place:
  %address = call ptr @relay_buffer(i64 %i)
  %at = getelementptr ptr, ptr %given, i64 %i ; native
  store ptr %address, ptr %at ; native
  %next = add i64 %i, 1
  br label %look
run:
  %results = getelementptr ptr, ptr %given, i64 $inputs ; native
  %status = call i32 @${{name}}_run(ptr %given, ptr %results)
  ret i32 %status
}}
"""

_HEADER: Final = Template("""\
/* $opening */
#ifndef $guard
#define $guard

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the model writes, all static: its arena of intermediate results, and addresses.
   The weights are constants. Then how many tensors of how many bytes go in and come out. */
$macros

/* Run the model. Tensors are dense, row by row, and each is aligned to its elements.
   Inputs, in this order:
$inputs
   Outputs, in memory of the caller's:
$outputs
   Gives 0 or a status. It may not be called while it runs. */
int ${name}_run(const void *const inputs[], void *const outputs[]);

$reset/* What a status means. */
const char *${name}_error(int status);

#ifdef __cplusplus
}
#endif

#endif
""")
