"""Kernels written in LLVM IR, and a way to run them: what the tests of the runtime share."""

from __future__ import annotations

import numpy as np
import pytest

from relay.native import pool, run
from relay.native.runtime import Context, portable, start
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load

# counts: every element of the first argument is raised by one, `repeat` times, in parallel loops;
# nested: the same, by a parallel loop inside of a parallel loop over rows of 10;
# workers: element i becomes the worker that had it.
KERNELS = """
define internal void @count(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker) {
entry:
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %closure, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define i32 @counts(ptr %context, ptr %args) {
entry:
  %data = load ptr, ptr %args
  %extent.at = getelementptr i64, ptr %args, i64 1
  %extent = load i64, ptr %extent.at
  %repeat.at = getelementptr i64, ptr %args, i64 2
  %repeat = load i64, ptr %repeat.at
  %parallel = load ptr, ptr %context
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %parallel(ptr %context, ptr @count, ptr %data, i64 %extent)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %repeat
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
define internal void @row(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker) {
entry:
  %parallel = load ptr, ptr %context
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %offset = mul i64 %i, 10
  %at = getelementptr i64, ptr %closure, i64 %offset
  call void %parallel(ptr %context, ptr @count, ptr %at, i64 10)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define i32 @nested(ptr %context, ptr %args) {
  %data = load ptr, ptr %args
  %rows.at = getelementptr i64, ptr %args, i64 1
  %rows = load i64, ptr %rows.at
  %parallel = load ptr, ptr %context
  call void %parallel(ptr %context, ptr @row, ptr %data, i64 %rows)
  ret i32 0
}
define internal void @mark(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker) {
entry:
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %closure, i64 %i
  store i64 %worker, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define i32 @workers(ptr %context, ptr %args) {
  %data = load ptr, ptr %args
  %extent.at = getelementptr i64, ptr %args, i64 1
  %extent = load i64, ptr %extent.at
  %parallel = load ptr, ptr %context
  call void %parallel(ptr %context, ptr @mark, ptr %data, i64 %extent)
  ret i32 0
}
define i32 @copy(ptr %context, ptr %args) {
entry:
  %to = load ptr, ptr %args
  %count.at = getelementptr i64, ptr %args, i64 1
  %count = load i64, ptr %count.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from.at = getelementptr i64, ptr %args, i64 %i
  %value = load i64, ptr %from.at
  %to.at = getelementptr i64, ptr %to, i64 %i
  store i64 %value, ptr %to.at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
define i32 @fails(ptr %context, ptr %args) {
  %detail = getelementptr i8, ptr %context, i64 40
  store i64 -7, ptr %detail
  ret i32 1
}
define internal void @half(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker) {
entry:
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr double, ptr %closure, i64 %i
  %old = load double, ptr %at
  %new = fmul double %old, 5.0e-1
  store double %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define i32 @halves(ptr %context, ptr %args) {
  %data = load ptr, ptr %args
  %extent.at = getelementptr i64, ptr %args, i64 1
  %extent = load i64, ptr %extent.at
  %parallel = load ptr, ptr %context
  call void %parallel(ptr %context, ptr @half, ptr %data, i64 %extent)
  ret i32 0
}
"""
NAMES = ("counts", "nested", "workers", "copy", "fails", "halves")


class Program:
    """Calls of the kernels above, in memory the way the runtime wants them."""

    def __init__(self, library, calls, frame):
        self.frame = np.array(frame, np.int64)
        self.indices = [np.array(indices, np.int32) for _, indices in calls]
        rows = [
            [library.address(name), indices.ctypes.data, len(indices)]
            for (name, _), indices in zip(calls, self.indices, strict=True)
        ]
        self.table = np.array(rows, np.int64).reshape(-1, 3)

    def arguments(self, context):
        self.context = context  # addresses keep nothing alive
        return context.address, self.table.ctypes.data, len(self.table), self.frame.ctypes.data


@pytest.fixture(scope="session")
def kernels():
    return load(compile_module([KERNELS], Target.host()), NAMES)


@pytest.fixture(scope="session", params=["futex", "condition", "serial"])
def parked(request):
    """A runtime of its own for each way of sleeping; all three work under Linux."""
    host = portable(Target.host())
    texts = [pool.text(host, request.param), run.text(host)]
    made = start(compile_module(texts, host, imports=pool.imports(host, request.param)))
    yield made
    assert made.stop() == 0


@pytest.fixture
def execute(kernels):
    """Run one kernel on an array and integers; the array is changed."""

    def run(runtime, name, array, *integers, threads=2):
        context = Context(threads, within=runtime)
        frame = [array.ctypes.data, *integers]
        program = Program(kernels, [(name, range(len(frame)))], frame)
        status = runtime.run(*program.arguments(context))
        return status, context

    return run


@pytest.fixture
def program(kernels):
    """A program of calls [(kernel, slots of its arguments), …] over a frame."""
    return lambda calls, frame: Program(kernels, calls, frame)


@pytest.fixture
def kernel_text():
    """The kernels, to be compiled for other machines."""
    return KERNELS
