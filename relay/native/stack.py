"""The stack and the frames of programs, and polling for interrupts, in LLVM IR.

    i32 relay_enter(ptr context, ptr function, ptr args, ptr results)
    i32 relay_poll(ptr context)
    ptr relay_frame_more(ptr context, i64 bytes)

A program recurses as deep as its data, so it has its own stack, whose size is in the context; its
memory is reserved, not committed. `relay_enter` switches to it and runs
`i32 function(context, args, results)`. Recursive functions fail below the limit in the context,
below which there is room for code that does not recurse, and then a guard area.

Frames, for local tensors and workspaces of an activation, are reserved the same way; most programs
use only their first part, and `relay_frame_more` enables the rest. Memory of both that a deep call
has used is returned to the system after it.

Code that may run for long counts down, and calls `relay_poll` at zero. This adapts the countdown to
a few milliseconds and, at larger intervals, asks the callback of the context, on the caller's
stack, whether to continue. Kernels ask it too (`relay.target.llvm.abi`), in the entering thread.
"""

from __future__ import annotations

from typing import Final

from relay.native import layout
from relay.native.notation import assemble
from relay.native.pool import CLOCK, WITHOUT_THREADS
from relay.native.run import arithmetic
from relay.target.llvm import abi
from relay.target.llvm.target import LLVMTarget

STACK: Final = 1 << 30  # bytes that are reserved by default
FRAMES: Final = 1 << 33
MODEST: Final = 1 << 26  # the same where memory is limited
SMALLEST: Final = 1 << 20
GUARD: Final = 1 << 16  # bytes without access; a multiple of all page sizes
LEAVES: Final = (
    1 << 18
)  # bytes below the limit for code that does not recurse: kernels, the runtime
KEPT: Final = 1 << 22  # bytes of each that stay committed between calls

FIRST_STRIDE: Final = 64
LONGEST_STRIDE: Final = 1 << 14
SHORT: Final = 1_000_000  # nanoseconds between polls; the countdown adapts to these two
LONG: Final = 16_000_000
BETWEEN_CALLBACKS: Final = 10_000_000


def has_own_stack(target: LLVMTarget) -> bool:
    """Whether programs run on a stack of their own, not on the caller's."""
    return target.system not in WITHOUT_THREADS


def text(target: LLVMTarget) -> str:
    """The functions above, and `relay_open_stack` and `relay_close_stack`."""
    linux = target.system == "linux"
    names = {
        **layout.numbers(),
        "error": abi.ERROR,
        "interrupted": abi.INTERRUPTED,
        "watch_at": abi.WATCH,
        "ask": layout.WATCH + abi.ASK,
        "thread": layout.WATCH + abi.THREAD,
        "out_of_memory": abi.OUT_OF_MEMORY,
        "stack_default": STACK,
        "frames_default": FRAMES,
        "smallest": SMALLEST,
        "modest": MODEST,
        "guard": GUARD,
        "limit_offset": GUARD + LEAVES,
        "leaves": LEAVES,
        "kept": KEPT,
        "first_stride": FIRST_STRIDE,
        "longest_stride": LONGEST_STRIDE,
        "short": SHORT,
        "long": LONG,
        "between": BETWEEN_CALLBACKS,
        # MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE; MAP_STACK, which has no huge pages
        "flags": 0x2 | 0x20 | 0x4000 | 0x20000 if linux else 0x2 | 0x1000 | 0x40,
        "unused": 4,
        "monotonic": 1 if linux else 6,
    }
    if not has_own_stack(target):
        parts = [_ENTER, _CALLERS_STACK]
    else:
        parts = [_ENTER, CLOCK, _OWN_STACK, _POLL, _SWITCH]
    return arithmetic(target) + assemble("".join(parts), names)


_ENTER: Final = """
define i32 @relay_enter(ptr %context, ptr %function, ptr %args, ptr %results) nounwind {
entry:
  store i64 0, ptr %context[$error]
  store i64 $first_stride, ptr %context[$countdown]
  store i64 $first_stride, ptr %context[$stride]
  store i64 0, ptr %context[$polled]
  %ready = call i1 @relay_open_stack(ptr %context)
  br i1 %ready, label %set, label %fail
set:
  %before = call i64 @relay_arithmetic()
  %plain = load i64, ptr @relay_plain_arithmetic
  %usual = icmp eq i64 %before, %plain
  br i1 %usual, label %begin, label %change
change:
  call void @relay_set_arithmetic(i64 %plain)
  br label %begin
begin:
  %status = call i32 @relay_run_there(ptr %context, ptr %function, ptr %args, ptr %results)
  br i1 %usual, label %done, label %restore
restore:
  call void @relay_set_arithmetic(i64 %before)
  br label %done
done:
  ret i32 %status
fail:
  ret i32 $out_of_memory
}
"""

# Calls `function` on `stack`, and stores the current stack pointer in `saved`. The alloca has no
# bytes, which LLVM cannot know, so that the function addresses its own memory by the frame pointer.
# Inline assembly would be clearer, but `llvmlite` parses only that of the host.
_SWITCH: Final = """
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)

define internal i32 @relay_switch(ptr %stack, ptr %function, ptr %a, ptr %b, ptr %c, ptr %saved)
    noinline optnone nounwind "frame-pointer"="all" {
  %nothing = load i64, ptr @relay_nothing
  %none = alloca i8, i64 %nothing, align 16
  store volatile ptr %none, ptr %saved
  %here = call ptr @llvm.stacksave.p0()
  store ptr %here, ptr %saved
  call void @llvm.stackrestore.p0(ptr %stack)
  %status = call i32 %function(ptr %a, ptr %b, ptr %c)
  call void @llvm.stackrestore.p0(ptr %here)
  ret i32 %status
}
@relay_nothing = internal global i64 0
"""

_OWN_STACK: Final = """
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @madvise(ptr, i64, i32)
declare i64 @pthread_self()

; Reserve memory of the given size, or the largest half, quarter, … available (of the default size
; at most $modest bytes, to leave memory for others). Stores the size; null when there is none.
define internal ptr @relay_map(ptr %size.at, i64 %otherwise) noinline cold nounwind {
entry:
  %given = load i64, ptr %size.at
  %unset = icmp eq i64 %given, 0
  %wanted = select i1 %unset, i64 %otherwise, i64 %given
  %beyond = add i64 %wanted, ${guard}
  %beyond.less = sub i64 %beyond, 1
  %rounded = and i64 %beyond.less, -$guard
  %small = icmp ult i64 %rounded, $smallest
  %first = select i1 %small, i64 $smallest, i64 %rounded
  br label %ask
ask:
  %size = phi i64 [ %first, %entry ], [ %less, %halve ]
  %memory = call ptr @mmap(ptr null, i64 %size, i32 3, i32 $flags, i32 -1, i64 0)
  %none = icmp eq ptr %memory, inttoptr (i64 -1 to ptr)
  br i1 %none, label %halve, label %done
halve:
  %half = lshr i64 %size, 1
  %modest = call i64 @llvm.umin.i64(i64 %half, i64 $modest)
  %part = select i1 %unset, i64 %modest, i64 %half
  %less = and i64 %part, -$guard
  br uge i64 %less, $smallest, label %ask, label %fail
done:
  store i64 %size, ptr %size.at
  ret ptr %memory
fail:
  ret ptr null
}

define internal i1 @relay_open_stack(ptr %context) nounwind {
entry:
  %top = load ptr, ptr %context[$stack_top]
  store ptr %top, ptr %context[$stack_lowest]
  br eq ptr %top, null, label %open, label %done
open:
  %made = call i1 @relay_reserve_stack(ptr %context)
  ret i1 %made
done:
  ret i1 true
}

define internal i1 @relay_reserve_stack(ptr %context) noinline cold nounwind {
entry:
  %frames.size.at = getelementptr i8, ptr %context, i64 $frames_size
  %frames = call ptr @relay_map(ptr %frames.size.at, i64 $frames_default)
  br eq ptr %frames, null, label %fail, label %below
below:
  store ptr %frames, ptr %context[$frames]
  %size.at = getelementptr i8, ptr %context, i64 $stack_size
  %stack = call ptr @relay_map(ptr %size.at, i64 $stack_default)
  br eq ptr %stack, null, label %unmap, label %fill
unmap:
  %frames.size = load i64, ptr %frames.size.at
  %unmapped = call i32 @munmap(ptr %frames, i64 %frames.size)
  store ptr null, ptr %context[$frames]
  br label %fail
fill:
  %guarded = call i32 @mprotect(ptr %stack, i64 $guard, i32 0)
  store ptr %stack, ptr %context[$stack]
  %size = load i64, ptr %size.at
  %top = getelementptr i8, ptr %stack, i64 %size
  store ptr %top, ptr %context[$stack_top]
  store ptr %top, ptr %context[$stack_lowest]
  %limit = getelementptr i8, ptr %stack, i64 $limit_offset
  store ptr %limit, ptr %context[$stack_limit]
  call void @relay_first_frames(ptr %context)
  ret i1 true
fail:
  ret i1 false
}

; Reset the frames to their first part.
define internal void @relay_first_frames(ptr %context) nounwind {
  %frames = load ptr, ptr %context[$frames]
  %size = load i64, ptr %context[$frames_size]
  %small = icmp ult i64 %size, $kept
  %part = select i1 %small, i64 %size, i64 $kept
  %end = getelementptr i8, ptr %frames, i64 %part
  store ptr %end, ptr %context[$frame_end]
  store ptr %frames, ptr %context[$frame]
  ret void
}

define ptr @relay_frame_more(ptr %context, i64 %bytes) noinline cold nounwind {
entry:
  %frames = load i64, ptr %context[$frames]
  %size = load i64, ptr %context[$frames_size]
  %limit = load i64, ptr %context[$limit]
  %limit.whole = and i64 %limit, -64
  %unlimited = icmp eq i64 %limit, 0
  %bounded = call i64 @llvm.umin.i64(i64 %size, i64 %limit.whole)
  %most = select i1 %unlimited, i64 %size, i64 %bounded
  %end = add i64 %frames, %most
  %frame = load i64, ptr %context[$frame]
  %beyond = icmp ugt i64 %frame, %end
  %room = sub i64 %end, %frame
  %too.many = icmp ugt i64 %bytes, %room
  %refused = or i1 %beyond, %too.many
  br i1 %refused, label %fail, label %take
take:
  store i64 %end, ptr %context[$frame_end]
  %bytes.beyond = add i64 %bytes, 63
  %rounded = and i64 %bytes.beyond, -64
  %after = add i64 %frame, %rounded
  store i64 %after, ptr %context[$frame]
  %given = inttoptr i64 %frame to ptr
  ret ptr %given
fail:
  ret ptr null
}

define internal i32 @relay_run_there(ptr %context, ptr %function, ptr %args, ptr %results)
    nounwind {
entry:
  %callback = load ptr, ptr %context[$callback]
  %nobody = icmp eq ptr %callback, null
  %own.watch = getelementptr i8, ptr %context, i64 $watch
  %watch = select i1 %nobody, ptr null, ptr %own.watch
  store ptr %watch, ptr %context[$watch_at]
  store ptr @relay_call_back, ptr %context[$ask]
  %self = call i64 @pthread_self()
  store i64 %self, ptr %context[$thread]
  %top = load ptr, ptr %context[$stack_top]
  %saved = getelementptr i8, ptr %context, i64 $caller_stack
  %status = call i32 @relay_switch(ptr %top, ptr %function, ptr %context, ptr %args, ptr %results,
                                   ptr %saved)
  ; return what was used beyond `KEPT` to the system
  %lowest = load ptr, ptr %context[$stack_lowest]
  %near = getelementptr i8, ptr %top, i64 -$kept
  br ult ptr %lowest, %near, label %give.stack, label %frames
give.stack:
  %stack = load ptr, ptr %context[$stack]
  %usable = getelementptr i8, ptr %stack, i64 $guard
  %from = ptrtoint ptr %usable to i64
  %to = ptrtoint ptr %near to i64
  %far = sub i64 %to, %from
  %given.stack = call i32 @madvise(ptr %usable, i64 %far, i32 $unused)
  br label %frames
frames:
  %frames.begin = load ptr, ptr %context[$frames]
  %part = getelementptr i8, ptr %frames.begin, i64 $kept
  %end = load ptr, ptr %context[$frame_end]
  br ugt ptr %end, %part, label %give.frames, label %done
give.frames:
  %end.number = ptrtoint ptr %end to i64
  %part.number = ptrtoint ptr %part to i64
  %rest = sub i64 %end.number, %part.number
  %given.frames = call i32 @madvise(ptr %part, i64 %rest, i32 $unused)
  br label %done
done:
  call void @relay_first_frames(ptr %context)
  ret i32 %status
}

define void @relay_close_stack(ptr %context) noinline cold nounwind {
entry:
  %top = load ptr, ptr %context[$stack_top]
  br eq ptr %top, null, label %done, label %unmap
unmap:
  store ptr null, ptr %context[$stack_top]
  %stack = load ptr, ptr %context[$stack]
  %size = load i64, ptr %context[$stack_size]
  %unmapped = call i32 @munmap(ptr %stack, i64 %size)
  %frames = load ptr, ptr %context[$frames]
  %frames.size = load i64, ptr %context[$frames_size]
  %unmapped.frames = call i32 @munmap(ptr %frames, i64 %frames.size)
  ret void
done:
  ret void
}
"""

_POLL: Final = """
; Call the callback, on the caller's stack: its stack use is unknown.
define internal i32 @relay_call_back(ptr %context) noinline cold nounwind {
  %here = alloca i64
  %callback = load ptr, ptr %context[$callback]
  %caller = load ptr, ptr %context[$caller_stack]
  %answer = call i32 @relay_switch(ptr %caller, ptr %callback, ptr %context, ptr null, ptr null,
                                   ptr %here)
  ret i32 %answer
}

define i32 @relay_poll(ptr %context) noinline cold nounwind {
entry:
  %here = alloca i64
  %lowest = load ptr, ptr %context[$stack_lowest]
  %lower = icmp ult ptr %here, %lowest
  %lowest.now = select i1 %lower, ptr %here, ptr %lowest
  store ptr %lowest.now, ptr %context[$stack_lowest]

  %now = call i64 @relay_now()
  %polled = load i64, ptr %context[$polled]
  store i64 %now, ptr %context[$polled]
  %stride = load i64, ptr %context[$stride]
  br eq i64 %polled, 0, label %begin, label %measure
begin:
  store i64 %now, ptr %context[$called_back]
  br label %measured
measure:
  %since = sub i64 %now, %polled
  %fast = icmp ult i64 %since, $short
  %slow = icmp ugt i64 %since, $long
  %twice = shl i64 %stride, 1
  %more = call i64 @llvm.umin.i64(i64 %twice, i64 $longest_stride)
  %quarter = lshr i64 %stride, 2
  %less = call i64 @llvm.umax.i64(i64 %quarter, i64 1)
  %shorter = select i1 %slow, i64 %less, i64 %stride
  %adapted = select i1 %fast, i64 %more, i64 %shorter
  br label %measured
measured:
  %stride.now = phi i64 [ %stride, %begin ], [ %adapted, %measure ]
  store i64 %stride.now, ptr %context[$stride]
  store i64 %stride.now, ptr %context[$countdown]

  %called = load i64, ptr %context[$called_back]
  %since.called = sub i64 %now, %called
  %recent = icmp ult i64 %since.called, $between
  %callback = load ptr, ptr %context[$callback]
  %none = icmp eq ptr %callback, null
  %go.on = or i1 %recent, %none
  br i1 %go.on, label %fine, label %call
call:
  %answer = call i32 @relay_call_back(ptr %context)
  %after = call i64 @relay_now()
  store i64 %after, ptr %context[$called_back]
  store i64 %after, ptr %context[$polled]
  br ne i32 %answer, 0, label %interrupted, label %fine
interrupted:
  ret i32 $interrupted
fine:
  ret i32 0
}
"""

# For systems without `mmap`: the caller's stack, and frames of a fixed size.
_CALLERS_STACK: Final = """
define internal i1 @relay_open_stack(ptr %context) nounwind {
entry:
  %here = alloca i64
  %here.number = ptrtoint ptr %here to i64
  %limit = sub i64 %here.number, $leaves
  store i64 %limit, ptr %context[$stack_limit]
  %frames = load ptr, ptr %context[$frames]
  br eq ptr %frames, null, label %open, label %done
open:
  %made = call ptr @relay_new_block(ptr %context, i64 $kept)
  br eq ptr %made, null, label %fail, label %fill
fill:
  %base = call ptr @relay_take_block(ptr %context, ptr %made)
  store ptr %made, ptr %context[$frames]
  store ptr %base, ptr %context[$frames_size]
  br label %done
done:
  %begin = load ptr, ptr %context[$frames]
  store ptr %begin, ptr %context[$frame]
  %end = getelementptr i8, ptr %begin, i64 $kept
  store ptr %end, ptr %context[$frame_end]
  ret i1 true
fail:
  ret i1 false
}

define ptr @relay_frame_more(ptr %context, i64 %bytes) noinline cold nounwind {
  ret ptr null
}

define internal i32 @relay_run_there(ptr %context, ptr %function, ptr %args, ptr %results)
    nounwind {
  %status = call i32 %function(ptr %context, ptr %args, ptr %results)
  ret i32 %status
}

define void @relay_close_stack(ptr %context) noinline cold nounwind {
  %base = load ptr, ptr %context[$frames_size]
  call void @free(ptr %base)
  store ptr null, ptr %context[$frames]
  store ptr null, ptr %context[$frames_size]
  ret void
}

define i32 @relay_poll(ptr %context) noinline cold nounwind {
  store i64 $longest_stride, ptr %context[$countdown]
  %callback = load ptr, ptr %context[$callback]
  br eq ptr %callback, null, label %fine, label %call
call:
  %answer = call i32 %callback(ptr %context, ptr null, ptr null)
  br ne i32 %answer, 0, label %interrupted, label %fine
interrupted:
  ret i32 $interrupted
fine:
  ret i32 0
}
"""
