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
