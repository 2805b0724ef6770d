"""Programs that several tests run."""

LIST = "data List[int32] { Cons(int32, List[int32]); Nil }\n"

SUM = (
    LIST
    + """
function @sum("so far" = %0: int32, "rest" = %1: List[int32]) -> int32 {
  switch %1 { Cons: 1, Nil: 2 }
block 1:
  %2: int32 = field %1 Cons.0
  %3: List[int32] = field %1 Cons.1
  %4: int32 = add %0, %2
  tail call @sum(%4, %3)
block 2:
  return %0
}

function @main("xs" = %0: List[int32]) -> int32 {
  %1: int32 = 0
  tail call @sum(%1, %0)
}
"""
)

# counts down, and up again on the way back: as many calls wait as the argument says
DEEP = """
function @main("n" = %0: int32) -> int32 where "deep.relay:1:1" {
  %1: int32 = 0
  %2: bool = le %0, %1
  branch %2 ? 1 : 2
block 1:
  return %1
block 2:
  %3: int32 = 1
  %4: int32 = sub %0, %3
  (%5: int32) = call @main(%4)
  %6: int32 = add %5, %3
  return %6
}
"""

# multiplies a tensor of any length by a scalar, and says how long it is
SCALE = """
kernel @scale(float32[n], float32[]) -> (float32[n], int64[]) sizes=("n",) workspace=8 \
operators=("multiply",)

function @main("x" = %0: float32[n], "c" = %1: float32) -> (float32[?], int64) {
  %2: int64 = size %0[0]
  %3: float32[?] = alloc [%2]
  invoke @scale(%0, %1) -> (%3, %4: int64) [%2]
  return (%3, %4)
}
"""
SCALE_CODE = {
    "scale": """
define i32 @scale(ptr %context, ptr %args) nounwind {
entry:
  %x = load ptr, ptr %args
  %s1 = getelementptr ptr, ptr %args, i64 1
  %c = load ptr, ptr %s1
  %s2 = getelementptr ptr, ptr %args, i64 2
  %y = load ptr, ptr %s2
  %s3 = getelementptr ptr, ptr %args, i64 3
  %length = load ptr, ptr %s3
  %s4 = getelementptr i64, ptr %args, i64 4
  %n = load i64, ptr %s4
  %s5 = getelementptr ptr, ptr %args, i64 5
  %workspace = load ptr, ptr %s5
  store i64 %n, ptr %workspace
  %factor = load float, ptr %c
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from
  %product = fmul float %value, %factor
  %to = getelementptr float, ptr %y, i64 %i
  store float %product, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %found = load i64, ptr %workspace
  store i64 %found, ptr %length
  ret i32 0
}
"""
}

# the sum of a tensor, with a copy of it in a workspace that is as long as the tensor
TOTAL = """
kernel @total(float32[n]) -> (float32[]) sizes=("n",) sized_workspace=1

function @main("x" = %0: float32[?]) -> float32 {
  %1: int64 = size %0[0]
  invoke @total(%0) -> (%2: float32) [%1]
  return %2
}
"""
TOTAL_CODE = {
    "total": """
define i64 @total_workspace(ptr %context, ptr %args) nounwind {
  %s2 = getelementptr i64, ptr %args, i64 2
  %n = load i64, ptr %s2
  %bytes = mul i64 %n, 4
  ret i64 %bytes
}
define i32 @total(ptr %context, ptr %args) nounwind {
entry:
  %x = load ptr, ptr %args
  %s1 = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %s1
  %s2 = getelementptr i64, ptr %args, i64 2
  %n = load i64, ptr %s2
  %s3 = getelementptr ptr, ptr %args, i64 3
  %workspace = load ptr, ptr %s3
  %bytes = mul i64 %n, 4
  call void @llvm.memcpy.p0.p0.i64(ptr %workspace, ptr %x, i64 %bytes, i1 false)
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more_sum, %loop ]
  %from = getelementptr float, ptr %workspace, i64 %i
  %value = load float, ptr %from
  %more_sum = fadd float %sum, %value
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %result = phi float [ 0.0, %entry ], [ %more_sum, %loop ]
  store float %result, ptr %y
  ret i32 0
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
}

FAIL = """
define i32 @fail(ptr %context, ptr %args) nounwind {
  %index = getelementptr i64, ptr %context, i64 5
  store i64 9, ptr %index
  %extent = getelementptr i64, ptr %context, i64 6
  store i64 4, ptr %extent
  ret i32 1
}
"""
