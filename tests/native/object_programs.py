"""Programs on objects, written in LLVM IR, and a way to run them: what the tests of the heap, of
objects, of the stack and of the exchange share.

All are `i32 name(ptr context, ptr args, ptr results)`, `args` and `results` being words.
"""

from array import array
from functools import cache

from relay.native import layout, objects
from relay.native.call import ProgramContext, program_runtime
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load

LOOP = """
define i32 @{name}(ptr %ctx, ptr %args, ptr %results) {{
entry:
  %n = load i64, ptr %args
  %second.at = getelementptr i64, ptr %args, i64 1
  %second = load i64, ptr %second.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %before = phi ptr [ inttoptr (i64 3 to ptr), %entry ], [ %o, %next ]
  %o = {make}
  %none = icmp eq ptr %o, null
  br i1 %none, label %fail, label %made
made:
{body}
  br label %next
next:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %loop, label %done
done:
{end}
fail:
  ret i32 3
}}
"""
CONS = "call ptr @relay_new_object(ptr %ctx, i32 1, i32 0, i32 1, i32 2)"
FILL = """
  %rest = getelementptr i8, ptr %o, i64 24
  store ptr %before, ptr %rest
  %number = getelementptr i8, ptr %o, i64 32
  store i64 %i, ptr %number
"""
NIL = FILL.replace("store ptr %before", "store i64 3")
RELEASE = "  call void @relay_release(ptr %ctx, ptr %o)\n"
TENSOR = "call ptr @relay_new_tensor(ptr %ctx, i64 2, i64 %second)"
TOUCH = """
  %data.at = getelementptr i8, ptr %o, i64 16
  %data = load ptr, ptr %data.at
  %some = icmp sgt i64 %second, 0
  br i1 %some, label %touch, label %touched
touch:
  store i8 1, ptr %data
  %last = sub i64 %second, 1
  %end = getelementptr i8, ptr %data, i64 %last
  store i8 2, ptr %end
  br label %touched
touched:
"""
CELL = "call ptr @relay_new_object(ptr %ctx, i32 3, i32 0, i32 1, i32 1)"
LINK = """
  %held = getelementptr i8, ptr %o, i64 40
  store ptr %before, ptr %held
"""

PROGRAMS = "".join(
    LOOP.format(name=name, make=make, body=body, end=end)
    for name, make, body, end in (
        # n pairs, one after the other
        ("pairs", CONS, NIL + RELEASE, "  ret i32 0"),
        # a list of n elements, freed
        ("list", CONS, FILL, RELEASE + "  ret i32 0"),
        # a list of n elements, returned
        ("made_list", CONS, FILL, "  store ptr %o, ptr %results\n  ret i32 0"),
        # a list that nobody frees, and a failure
        ("lost", CONS, FILL, "  ret i32 17"),
        # the same without one: a leak
        ("leak", CONS, FILL, "  ret i32 0"),
        # n tensors of `second` bytes
        ("tensors", TENSOR, TOUCH + RELEASE, "  ret i32 0"),
        ("lost_tensors", TENSOR, TOUCH, "  ret i32 17"),
        # cells that hold one another
        ("cells", CELL, LINK, RELEASE + "  ret i32 0"),
    )
)

PROGRAMS += """
; two cells, each of which holds the other
define i32 @ring(ptr %ctx, ptr %args, ptr %results) {
  %a = call ptr @relay_new_object(ptr %ctx, i32 3, i32 0, i32 1, i32 2)
  %b = call ptr @relay_new_object(ptr %ctx, i32 3, i32 0, i32 1, i32 2)
  %a.holds = getelementptr i8, ptr %a, i64 40
  store ptr %b, ptr %a.holds
  %b.holds = getelementptr i8, ptr %b, i64 40
  store ptr %a, ptr %b.holds
  ret i32 0
}

; a tensor as long as the argument says, a view of it and a view of that; only the last is kept
define i32 @view(ptr %ctx, ptr %args, ptr %results) {
  %bytes = load i64, ptr %args
  %a = call ptr @relay_new_tensor(ptr %ctx, i64 1, i64 %bytes)
  %dim = getelementptr i8, ptr %a, i64 40
  store i64 %bytes, ptr %dim
  %data.at = getelementptr i8, ptr %a, i64 16
  %data = load ptr, ptr %data.at
  call void @llvm.memset.p0.i64(ptr %data, i8 7, i64 %bytes, i1 false)
  %b = call ptr @relay_new_view(ptr %ctx, ptr %a, i64 2)
  %c = call ptr @relay_new_view(ptr %ctx, ptr %b, i64 1)
  %owner.at = getelementptr i8, ptr %c, i64 24
  %owner = load ptr, ptr %owner.at
  %ours = icmp eq ptr %owner, %a
  %c.dim = getelementptr i8, ptr %c, i64 40
  store i64 %bytes, ptr %c.dim
  call void @relay_release_object(ptr %ctx, ptr %a)
  call void @relay_release_object(ptr %ctx, ptr %b)
  store ptr %c, ptr %results
  %status = select i1 %ours, i32 0, i32 99
  ret i32 %status
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; an object of `args[0]` words, all Nil
define i32 @wide(ptr %ctx, ptr %args, ptr %results) {
entry:
  %n = load i64, ptr %args
  %count = trunc i64 %n to i32
  %o = call ptr @relay_new_object(ptr %ctx, i32 1, i32 0, i32 %count, i32 %count)
  %none = icmp eq ptr %o, null
  br i1 %none, label %fail, label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %next, %fill ]
  %words = getelementptr i8, ptr %o, i64 24
  %at = getelementptr i64, ptr %words, i64 %i
  store i64 3, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %fill, label %done
done:
  store ptr %o, ptr %results
  ret i32 0
fail:
  ret i32 3
}

; calls itself `n` times, or until the stack ends; gives n
define internal i64 @down(ptr %ctx, i64 %n) noinline {
entry:
  %here = alloca [8 x i64]
  %limit.at = getelementptr i8, ptr %ctx, i64 64
  %limit = load ptr, ptr %limit.at
  %over = icmp ult ptr %here, %limit
  br i1 %over, label %fail, label %tick
tick:
  %status = call i32 @relay_tick(ptr %ctx)
  store volatile i64 %n, ptr %here
  %last = icmp eq i64 %n, 0
  br i1 %last, label %bottom, label %go.on
bottom:
  ret i64 0
go.on:
  %less = sub i64 %n, 1
  %deeper = call i64 @down(ptr %ctx, i64 %less)
  %kept = load volatile i64, ptr %here
  %failed = icmp slt i64 %deeper, 0
  %sum = add i64 %deeper, 1
  %result = select i1 %failed, i64 -1, i64 %sum
  ret i64 %result
fail:
  ret i64 -1
}
define i32 @recurse(ptr %ctx, ptr %args, ptr %results) {
  %n = load i64, ptr %args
  %depth = call i64 @down(ptr %ctx, i64 %n)
  store i64 %depth, ptr %results
  %failed = icmp slt i64 %depth, 0
  %status = select i1 %failed, i32 16, i32 0
  ret i32 %status
}

; never ends by itself
define i32 @forever(ptr %ctx, ptr %args, ptr %results) {
entry:
  br label %loop
loop:
  %status = call i32 @relay_tick(ptr %ctx)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %loop, label %done
done:
  ret i32 %status
}

; n frames of `second` bytes, all at once
define i32 @frames(ptr %ctx, ptr %args, ptr %results) {
entry:
  %n = load i64, ptr %args
  %bytes.at = getelementptr i64, ptr %args, i64 1
  %bytes = load i64, ptr %bytes.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %touch ]
  %memory = call ptr @relay_frame(ptr %ctx, i64 %bytes)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %fail, label %touch
touch:
  %last = sub i64 %bytes, 1
  %end = getelementptr i8, ptr %memory, i64 %last
  store i8 1, ptr %end
  %number = ptrtoint ptr %memory to i64
  store i64 %number, ptr %results
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
fail:
  ret i32 3
}

; half of the smallest normal double: 0 where denormals are flushed
define i32 @denormal(ptr %ctx, ptr %args, ptr %results) {
  %small = load volatile double, ptr %args
  %half = fmul double %small, 5.0e-1
  store double %half, ptr %results
  ret i32 0
}

; where the stack is
define i32 @where(ptr %ctx, ptr %args, ptr %results) {
  %here = alloca i64
  store ptr %here, ptr %results
  ret i32 0
}
"""
# arguments are the results
PROGRAMS += "".join(
    f"define i32 @echo{count}(ptr %ctx, ptr %args, ptr %results) {{\n"
    f"  call void @llvm.memcpy.p0.p0.i64(ptr %results, ptr %args, i64 {8 * count}, i1 false)\n"
    "  ret i32 0\n}\n"
    for count in range(9)
)
PROGRAMS += "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
# the first argument is returned twice
PROGRAMS += """
define i32 @twice(ptr %ctx, ptr %args, ptr %results) {
  %word = load ptr, ptr %args
  call void @relay_retain(ptr %word)
  store ptr %word, ptr %results
  %second = getelementptr ptr, ptr %results, i64 1
  store ptr %word, ptr %second
  ret i32 0
}

; the first constant
define i32 @constant(ptr %ctx, ptr %args, ptr %results) {
  %constants.at = getelementptr i8, ptr %ctx, i64 104
  %constants = load ptr, ptr %constants.at
  %first = load ptr, ptr %constants
  store ptr %first, ptr %results
  ret i32 0
}

; doubles the number in a cell, whose only word it is, and returns the cell
define i32 @double_cell(ptr %ctx, ptr %args, ptr %results) {
  %cell = load ptr, ptr %args
  %at = getelementptr i8, ptr %cell, i64 40
  %number = load i64, ptr %at
  %twice = mul i64 %number, 2
  store i64 %twice, ptr %at
  store ptr %cell, ptr %results
  ret i32 0
}

; a closure without captures, that nobody counts
@closure = internal constant { i64, i32, i32, i32, i32, ptr }
    { i64 -4611686018427387904, i32 2, i32 0, i32 0, i32 0, ptr @where }, align 16
define i32 @function(ptr %ctx, ptr %args, ptr %results) {
  store ptr @closure, ptr %results
  ret i32 0
}
"""
NAMES = [
    line.split("@")[1].split("(")[0]
    for line in PROGRAMS.splitlines()
    if line.startswith("define i32")
]


@cache
def library():
    text = objects.inline_text() + PROGRAMS
    code = compile_module([text], Target.host(), opt=3, imports=objects.PROGRAM_IMPORTS)
    return load(code, NAMES, program_runtime().symbols)


def call(context: ProgramContext, name, *args, results=1, exports=()):
    """Run a program on integers: its status, and the words of its results."""
    words = array("q", [0] * results + list(args) + [0, 0])
    exported = array("i", exports)
    request = array(
        "q",
        [
            context.address,
            library().address(name),
            *(0, 0, words.buffer_info()[0], results),
            *(0, 0, exported.buffer_info()[0], len(exported)),
        ],
    )
    status = context.perform(request.buffer_info()[0])
    return status, list(words[:results])


def export_of(context):
    """The words of the last export, and the bytes of its small tensors."""
    words, used, elements = context.export()
    return words[:used].tolist(), elements[: context[layout.ELEMENTS + 16]].tobytes()
