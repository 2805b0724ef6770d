"""Whole programs as C libraries: the functions of the header, in LLVM IR.

A model is one block of memory:

       0  the context          of programs (`relay.native.layout`)
    2048  loaded weights       an allocated block; null for embedded weights
    2056  holds                the number of references that the C program owns
    2064  failed               nonzero if a run has failed since `holds` was 0
    2072  status               of the last error
    2080  watch                i32 (ptr model), or null: nonzero ends a run
    2088  message              of the last error
    2560  constants            a table of their addresses, and the objects; last those that the
                               state begins with
       …  state                its words, after the number of them that are held

Values are objects of the heap. When the C program has released all of them, the heap is emptied
(`relay_end`), which frees cycles of cells and what failed runs have left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from relay.native import layout
from relay.native.notation import assemble
from relay.program.native import Site
from relay.program.plan import ALIGNMENT
from relay.target.llvm import abi
from relay.target.llvm.c import tables
from relay.target.llvm.c.failures import FAILURES, WRONG_VALUE, formats_text
from relay.target.llvm.c.running import RUNNING
from relay.target.llvm.c.tables import Constants
from relay.target.llvm.c.types import CTypes
from relay.target.llvm.c.values import MAKING, READING
from relay.target.llvm.program.words import is_object

LOADED: Final = layout.PROGRAM_CONTEXT_SIZE
HOLDS: Final = LOADED + 8
FAILED: Final = HOLDS + 8
STATUS: Final = FAILED + 8
WATCH: Final = STATUS + 8
MESSAGE: Final = WATCH + 8
CONSTANTS: Final = LOADED + 512
MESSAGE_SIZE: Final = CONSTANTS - MESSAGE

IMPORTS: Final = frozenset({"snprintf"})

MOST_DIMENSIONS: Final = 64


def functions_text(types: CTypes, entry: str, sites: Sequence[Site], constants: Constants) -> str:
    """All functions but `create`, `destroy` and `error`. `entry` runs the program."""
    sizes = tables.Sizes()
    arguments = [(f"argument `{param.name}`", param) for param in types.params]
    data = [
        tables.parts_text("relay_arguments", arguments, sizes),
        tables.constructors_text(types.constructors, sizes),
        tables.bytes_text("relay_results", [is_object(slot.spec) for slot in types.results]),
        tables.bytes_text("relay_state", [is_object(spec) for _, spec in types.state]),
        tables.sites_text(sites),
        sizes.text(),
        constants.text(),
    ]
    names = layout.numbers(
        name=types.model,
        entry=entry,
        arguments=len(types.params),
        result_count=len(types.results),
        kept=len(types.state),
        first_kept=len(constants) - len(types.state),
        all_arguments=max(1, len(types.params) + len(types.state)),
        all_results=max(1, len(types.results) + len(types.state)),
        held_at=_state_at(constants),
        state_at=_state_at(constants) + 8,
        result_bytes=8 * len(types.results),
        site_count=len(sites),
        names=max(1, len(sizes.names)),
        name_bytes=8 * max(1, len(sizes.names)),
        constant_count=len(constants),
        constant_bytes=8 * len(constants.words),
        constants_at=CONSTANTS,
        size=model_size(constants, len(types.state)),
        holds_at=HOLDS,
        failed_at=FAILED,
        status_at=STATUS,
        watch_at=WATCH,
        message_at=MESSAGE,
        message_size=MESSAGE_SIZE,
        most_dimensions=MOST_DIMENSIONS,
        part_type=tables.PART,
        constructor_type=tables.CONSTRUCTOR,
        no_object=tables.NO_OBJECT,
        first_named=tables.FIRST_NAMED,
        wrong_value=WRONG_VALUE,
        index=abi.DETAILS[1],
        extent=abi.DETAILS[2],
        detail_0=abi.DETAILS[0],
        detail_1=abi.DETAILS[1],
        out_of_range=abi.OUT_OF_RANGE,
        out_of_memory=abi.OUT_OF_MEMORY,
    )
    functions = (
        _MODEL
        + _HOLDS
        + _STATE
        + (_RESET if types.state else "")
        + FAILURES
        + MAKING
        + READING
        + RUNNING
    )
    return "\n".join([*data, formats_text(), assemble(functions, names)])


def model_size(constants: Constants, kept: int) -> int:
    """The size of a model in bytes; `kept` is the number of words of the state."""
    return _state_at(constants) + 8 * (1 + kept) + ALIGNMENT


def _state_at(constants: Constants) -> int:
    return CONSTANTS + 8 * len(constants.words)


_MODEL: Final = """
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i32 @$entry(ptr, ptr, ptr)
declare ptr @relay_new_tensor(ptr, i64, i64)
declare ptr @relay_new_object(ptr, i32, i32, i32, i32)
declare void @relay_retain_object(ptr)
declare void @relay_release_object(ptr, ptr)
declare i32 @relay_enter(ptr, ptr, ptr, ptr)
declare void @relay_end(ptr)
declare void @relay_reset(ptr)
declare void @relay_close(ptr)
declare void @relay_close_stack(ptr)

@relay_outside = internal constant [11 x i8] c"the caller\\00"
@relay_inside = internal constant [10 x i8] c"the model\\00"

define internal void @relay_set_up(ptr %model, ptr %weights) nounwind {
entry:
  call void @llvm.memset.p0.i64(ptr align 64 %model, i8 0, i64 $size, i1 false)
  %constants = getelementptr i8, ptr %model, i64 $constants_at
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %constants, ptr @relay_constants,
                                   i64 $constant_bytes, i1 false)
  store ptr %constants, ptr %model[$constants]
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %place ]
  br ult i64 %i, $constant_count, label %place, label %done
place:
  %at = getelementptr i64, ptr %constants, i64 %i
  %offset = load i64, ptr %at
  %object = getelementptr i8, ptr %constants, i64 %offset
  store ptr %object, ptr %at
  %data.offset = load i64, ptr %object[$tensor_data]
  %data = getelementptr i8, ptr %weights, i64 %data.offset
  store ptr %data, ptr %object[$tensor_data]
  %next = add i64 %i, 1
  br label %look
done:
  call void @relay_begin(ptr %model)
  ret void
}

define internal void @relay_tear_down(ptr %model) nounwind {
  call void @relay_close(ptr %model)
  ret void
}

define void @${name}_set_threads(ptr %model, i32 %threads) nounwind {
  call void @relay_use_threads(ptr %model, i32 %threads)
  ret void
}

define void @${name}_set_stack(ptr %model, i64 %bytes) nounwind {
  call void @relay_close_stack(ptr %model)
  store i64 %bytes, ptr %model[$stack_size]
  ret void
}

define void @${name}_set_memory(ptr %model, i64 %bytes) nounwind {
entry:
  store i64 %bytes, ptr %model[$limit]
  %holds = load i64, ptr %model[$holds_at]
  br eq i64 %holds, 0, label %begin.anew, label %done
begin.anew:                              ; the memory kept for later may exceed the limit
  call void @relay_close(ptr %model)
  br label %done
done:
  ret void
}

define void @${name}_set_watch(ptr %model, ptr %watch) nounwind {
  store ptr %watch, ptr %model[$watch_at]
  %none = icmp eq ptr %watch, null
  %look = select i1 %none, ptr null, ptr @relay_look
  store ptr %look, ptr %model[$callback]
  ret void
}

; The callback of the runtime.
define internal i32 @relay_look(ptr %model, ptr %0, ptr %1) nounwind {
  %watch = load ptr, ptr %model[$watch_at]
  %answer = call i32 %watch(ptr %model)
  ret i32 %answer
}

define ptr @${name}_message(ptr %model) nounwind {
  %message = getelementptr i8, ptr %model, i64 $message_at
  ret ptr %message
}

define i64 @${name}_live(ptr %model) nounwind {
  %made = load i64, ptr %model[$made]
  %freed = load i64, ptr %model[$freed]
  %live = sub i64 %made, %freed
  ret i64 %live
}
"""

_STATE: Final = """
; Set the state to what it begins with, without releasing what it is.
define internal void @relay_begin(ptr %model) nounwind {
entry:
  %constants = load ptr, ptr %model[$constants]
  %state = getelementptr i8, ptr %model, i64 $state_at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %place ]
  br ult i64 %i, $kept, label %word, label %done
word:
  %number = add i64 %i, $first_kept
  %object = load i64, ptr %constants[i64 %number]
  %kind = load i8, ptr @relay_state[%i]
  br ne i8 %kind, 0, label %place, label %scalar
scalar:                                  ; constants are padded
  %constant = inttoptr i64 %object to ptr
  %data = load ptr, ptr %constant[$tensor_data]
  %value = load i64, ptr %data
  br label %place
place:
  %found = phi i64 [ %object, %word ], [ %value, %scalar ]
  store i64 %found, ptr %state[i64 %i]
  %next = add i64 %i, 1
  br label %look
done:
  ret void
}

; Retain the state for a run, or release it, and count its objects.
define internal i64 @relay_visit_state(ptr %model, i1 %retain) nounwind {
entry:
  %state = getelementptr i8, ptr %model, i64 $state_at
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %other ]
  %count = phi i64 [ 0, %entry ], [ %more, %other ]
  br ult i64 %i, $kept, label %word, label %done
word:
  %kind = load i8, ptr @relay_state[%i]
  br ne i8 %kind, 0, label %object, label %other
object:
  %value = load ptr, ptr %state[ptr %i]
  br i1 %retain, label %hold, label %release
hold:
  call void @relay_retain_object(ptr %value)
  br label %other
release:
  call void @relay_release_object(ptr %model, ptr %value)
  br label %other
other:
  %one = phi i64 [ 0, %word ], [ 1, %hold ], [ 1, %release ]
  %more = add i64 %count, %one
  %next = add i64 %i, 1
  br label %look
done:
  ret i64 %count
}
"""

_RESET: Final = """
define void @${name}_reset(ptr %model) nounwind {
  %held = load i64, ptr %model[$held_at]
  %count = call i64 @relay_visit_state(ptr %model, i1 false)
  call void @relay_begin(ptr %model)
  store i64 0, ptr %model[$held_at]
  %less = sub i64 0, %held
  call void @relay_count_holds(ptr %model, i64 %less)
  ret void
}
"""

_HOLDS: Final = """
; Add to the number of references of the caller; at 0 the heap is emptied.
define internal void @relay_count_holds(ptr %model, i64 %more) nounwind {
entry:
  %holds = load i64, ptr %model[$holds_at]
  %sum = add i64 %holds, %more
  store i64 %sum, ptr %model[$holds_at]
  br eq i64 %sum, 0, label %empty, label %done
empty:
  %failed = load i64, ptr %model[$failed_at]
  br eq i64 %failed, 0, label %end, label %reset
reset:                                   ; objects of a failed run may be incomplete
  store i64 0, ptr %model[$failed_at]
  call void @relay_reset(ptr %model)
  br label %end
end:
  call void @relay_end(ptr %model)
  br label %done
done:
  ret void
}

; Whether a word is the address of an object.
define internal i1 @relay_is_object(ptr %value) alwaysinline nounwind {
  %number = ptrtoint ptr %value to i64
  %odd = trunc i64 %number to i1
  %none = icmp eq ptr %value, null
  %neither = or i1 %odd, %none
  %object = xor i1 %neither, true
  ret i1 %object
}

define ptr @${name}_hold(ptr %model, ptr %value) nounwind {
entry:
  %object = call i1 @relay_is_object(ptr %value)
  br i1 %object, label %hold, label %done
hold:
  call void @relay_retain_object(ptr %value)
  call void @relay_count_holds(ptr %model, i64 1)
  br label %done
done:
  ret ptr %value
}

define void @${name}_release(ptr %model, ptr %value) nounwind {
entry:
  %object = call i1 @relay_is_object(ptr %value)
  br i1 %object, label %release, label %done
release:
  call void @relay_release_object(ptr %model, ptr %value)
  call void @relay_count_holds(ptr %model, i64 -1)
  br label %done
done:
  ret void
}
"""
