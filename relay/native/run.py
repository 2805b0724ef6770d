"""Runs a straight-line program in one native call, in LLVM IR.

    i32 relay_run(ptr context, ptr table, i64 count, ptr frame)

The frame is an array of 8-byte slots: the addresses of all tensors of one call of the program, and
its dynamic sizes. The table lists the kernel calls in order, with the slots of their arguments:

    { ptr kernel, ptr indices, i64 count }      indices: i32, one per argument

The first nonzero status of a kernel ends the program, with the index of the call in the context.
Long loops poll for interrupts (`pool.py`); for kernels without, every sixteenth call does.

Kernels run with the default floating-point environment, so that results do not depend on a library
that has set the processor to flush denormals to zero, nor on the number of threads.
"""

from __future__ import annotations

from typing import Final

from relay.native.notation import assemble
from relay.target.llvm import abi
from relay.target.llvm.target import LLVMTarget

_ARGUMENTS: Final = 64  # more arguments are gathered by a separate function


def text(target: LLVMTarget) -> str:
    """`relay_run`, `relay_call` and `relay_context` for `target`."""
    names = {
        "arguments": _ARGUMENTS,
        "parallel": abi.PARALLEL,
        "threads": abi.THREADS,
        "error": abi.ERROR,
        "record": abi.RECORD,
        "size": abi.CONTEXT_SIZE // 8,
    }
    return arithmetic(target) + assemble(_RUN, names)


def arithmetic(target: LLVMTarget) -> str:
    """Get and set the floating-point environment, and its default."""
    return {"x86_64": _X86, "aarch64": _AARCH64, "arm": _ARM}.get(target.arch, _FIXED)


_X86: Final = """\
define internal i64 @relay_arithmetic() nounwind {
  %control = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %control)
  %value = load i32, ptr %control
  %flags = and i32 %value, -64
  %wide = zext i32 %flags to i64
  ret i64 %wide
}
define internal void @relay_set_arithmetic(i64 %value) nounwind {
  %control = alloca i32
  %narrow = trunc i64 %value to i32
  store i32 %narrow, ptr %control
  call void @llvm.x86.sse.ldmxcsr(ptr %control)
  ret void
}
@relay_plain_arithmetic = internal constant i64 8064
"""

_AARCH64: Final = """\
define internal i64 @relay_arithmetic() nounwind {
  %value = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %value
}
define internal void @relay_set_arithmetic(i64 %value) nounwind {
  call void @llvm.aarch64.set.fpcr(i64 %value)
  ret void
}
@relay_plain_arithmetic = internal constant i64 0
"""

_ARM: Final = """\
define internal i64 @relay_arithmetic() nounwind {
  %value = call i32 @llvm.arm.get.fpscr()
  %control = and i32 %value, 132120576
  %wide = zext i32 %control to i64
  ret i64 %wide
}
define internal void @relay_set_arithmetic(i64 %value) nounwind {
  %narrow = trunc i64 %value to i32
  call void @llvm.arm.set.fpscr(i32 %narrow)
  ret void
}
@relay_plain_arithmetic = internal constant i64 0
"""

# Floats always round to nearest, or as the one program of the machine says.
_FIXED: Final = """\
define internal i64 @relay_arithmetic() alwaysinline nounwind {
  ret i64 0
}
define internal void @relay_set_arithmetic(i64 %value) alwaysinline nounwind {
  ret void
}
@relay_plain_arithmetic = internal constant i64 0
"""

_RUN: Final = """
declare void @relay_parallel(ptr, ptr, ptr, i64)
declare void @relay_look(ptr)

define void @relay_context(ptr %context, i64 %threads) nounwind {
  store [$size x i64] zeroinitializer, ptr %context
  store ptr @relay_parallel, ptr %context[$parallel]
  store i64 %threads, ptr %context[$threads]
  ret void
}

define internal void @relay_gather(ptr %args, ptr %indices, i64 %count, ptr %frame) nounwind {
entry:
  br sle i64 %count, 0, label %done, label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %index = load i32, ptr %indices[i32 %k]
  %index.wide = zext i32 %index to i64
  %value = load i64, ptr %frame[i64 %index.wide]
  store i64 %value, ptr %args[i64 %k]
  %next = add i64 %k, 1
  br slt i64 %next, %count, label %loop, label %done
done:
  ret void
}

define internal i32 @relay_call_wide(ptr %context, ptr %kernel, ptr %indices, i64 %count,
                                     ptr %frame) nounwind noinline {
  %args = alloca i64, i64 %count, align 16
  call void @relay_gather(ptr %args, ptr %indices, i64 %count, ptr %frame)
  %status = call i32 %kernel(ptr %context, ptr %args)
  ret i32 %status
}

define i32 @relay_run(ptr %context, ptr %table, i64 %count, ptr %frame) nounwind {
entry:
  %args = alloca [$arguments x i64], align 16
  store i64 0, ptr %context[$error]
  %before = call i64 @relay_arithmetic()
  %plain = load i64, ptr @relay_plain_arithmetic
  %usual = icmp eq i64 %before, %plain
  br i1 %usual, label %begin, label %change
change:
  call void @relay_set_arithmetic(i64 %plain)
  br label %begin
begin:
  br sgt i64 %count, 0, label %loop, label %end
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %next ]
  %call = getelementptr { ptr, ptr, i64 }, ptr %table, i64 %i
  %kernel = load ptr, ptr %call
  %indices.at = getelementptr { ptr, ptr, i64 }, ptr %call, i64 0, i32 1
  %indices = load ptr, ptr %indices.at
  %used.at = getelementptr { ptr, ptr, i64 }, ptr %call, i64 0, i32 2
  %used = load i64, ptr %used.at
  br sgt i64 %used, $arguments, label %many, label %few
few:
  call void @relay_gather(ptr %args, ptr %indices, i64 %used, ptr %frame)
  %status.few = call i32 %kernel(ptr %context, ptr %args)
  br label %called
many:
  %status.many = call i32 @relay_call_wide(ptr %context, ptr %kernel, ptr %indices, i64 %used,
                                           ptr %frame)
  br label %called
called:
  %status = phi i32 [ %status.few, %few ], [ %status.many, %many ]
  br eq i32 %status, 0, label %after, label %failed
after:
  %i.next = add i64 %i, 1
  %some = and i64 %i.next, 15
  br eq i64 %some, 0, label %look, label %next
look:
  call void @relay_look(ptr %context)
  %told = load i64, ptr %context[$error]
  %ended = trunc i64 %told to i32
  br eq i32 %ended, 0, label %next, label %failed
next:
  br slt i64 %i.next, %count, label %loop, label %end
failed:
  %reason = phi i32 [ %status, %called ], [ %ended, %look ]
  store i64 %i, ptr %context[$record]
  br label %end
end:
  %result = phi i32 [ 0, %begin ], [ 0, %next ], [ %reason, %failed ]
  br i1 %usual, label %leave, label %restore
restore:
  call void @relay_set_arithmetic(i64 %before)
  br label %leave
leave:
  ret i32 %result
}

; The same with all arguments in memory: a foreign call is cheaper with fewer arguments.
define i32 @relay_call(ptr %request) nounwind {
  %context = load ptr, ptr %request
  %table = load ptr, ptr %request[i64 1]
  %count = load i64, ptr %request[i64 2]
  %frame = load ptr, ptr %request[i64 3]
  %status = call i32 @relay_run(ptr %context, ptr %table, i64 %count, ptr %frame)
  ret i32 %status
}
"""
