"""Traversal of Python values: `relay_read` (`python_values.py`) without the code for each kind.

The values to be read are on a stack. The plan says which block reads the next one, in
`python_leaves.py` or `python_data.py`. A block has

    %object  %address  %type      the value, its address as a number, its class
    %what  %record  %kind         its record in the plan: `%first.at` … `%third.at` are its fields
    %to                           the offset of its word among the entries
    %n                            the number of the next entry

and continues at `put` with the word, if the value need not be kept alive; at `next`, when it has
appended entries and pushed their parts; or at `give.up`.
"""

from __future__ import annotations

from typing import Final

# The names in `relay_read` of the table of Python functions and objects.
_TABLE: Final = {
    "get.attribute": "pyobject_getattr",
    "list.size": "pylist_size",
    "list.item": "pylist_getitem",
    "tuple.size": "pytuple_size",
    "tuple.item": "pytuple_getitem",
    "integer": "pylong_aslonglongandoverflow",
    "real": "pyfloat_asdouble",
    "hold": "py_incref",
    "drop": "py_decref",
    "list.type": "the_list",
    "tuple.type": "the_tuple",
    "int.type": "the_int",
    "float.type": "the_float",
    "array.type": "the_ndarray",
    "none": "the_none",
    "true": "the_true",
    "false": "the_false",
}
_LOADS: Final = "".join(
    f"  %{name} = load ptr, ptr %api[$at_{entry}]\n" for name, entry in _TABLE.items()
)

BEGIN: Final = (
    """
define i32 @relay_read(ptr %reading, ptr %arguments) nounwind {
entry:
  %overflow = alloca i32
  %is.held = alloca i64                  ; whether the current value has a reference of ours
  store i64 0, ptr %is.held
  %current = alloca ptr                  ; the current value
  %api = load ptr, ptr %reading
  %plan = load ptr, ptr %reading[$reading_plan]
  %root = load i64, ptr %reading[$reading_root]
  %request = load ptr, ptr %reading[$reading_request]
  %words = load ptr, ptr %reading[$reading_words]
  %words.count = load i64, ptr %reading[$reading_count]
  %symbols = load ptr, ptr %reading[$reading_symbols]
  %symbols.count = load i64, ptr %reading[$reading_symbol_count]
  %entries = getelementptr i8, ptr %reading, i64 $reading_entries
  %work = getelementptr i8, ptr %reading, i64 $reading_work
  %work.used = getelementptr i8, ptr %work, i64 16
  %held = getelementptr i8, ptr %reading, i64 $reading_held

"""
    + _LOADS
    + """
  call void @relay_empty(ptr %entries)
  call void @relay_empty(ptr %work)
  call void @relay_end_reading(ptr %reading) ; in case the last call was not ended
  store i64 0, ptr %reading[$reading_slots_used]
  %calls = load i64, ptr %reading[$reading_call]
  %calls.more = add i64 %calls, 1
  store i64 %calls.more, ptr %reading[$reading_call]
  %symbols.bytes = shl i64 %symbols.count, 3
  call void @llvm.memset.p0.i64(ptr %symbols, i8 -1, i64 %symbols.bytes, i1 false)
  %words.bytes = shl i64 %words.count, 3
  %words.room = call ptr @relay_room(ptr %entries, i64 %words.bytes)
  br eq ptr %words.room, null, label %give.up, label %begin
begin:
  %begun = call i1 @relay_add_value(ptr %reading, ptr %arguments, i64 %root, i64 0, i64 0)
  br i1 %begun, label %next, label %give.up

next:
  ; the number of the next entry
  %n = phi i64 [ 0, %begin ], [ %n, %dropped ], [ %n.tensor, %keep.tensor ], [ %n, %tuple.next ],
               [ %n.value, %field.next ], [ %n.list, %element.next ], [ %n.some, %some.inside ]
  %used = load i64, ptr %work.used
  br ne i64 %used, 0, label %take, label %finish
take:
  %used.less = sub i64 %used, 32
  store i64 %used.less, ptr %work.used
  %work.memory = load ptr, ptr %work
  %item = getelementptr i8, ptr %work.memory, i64 %used.less
  %object = load ptr, ptr %item
  %record = load i64, ptr %item[i64 1]
  %to = load i64, ptr %item[i64 2]
  %item.held = load i64, ptr %item[i64 3]
  store i64 %item.held, ptr %is.held
  store ptr %object, ptr %current
  %address = ptrtoint ptr %object to i64
  %type = load ptr, ptr %object[$object_type]
  %what = getelementptr i8, ptr %plan, i64 %record
  %kind = load i64, ptr %what
  %first.at = getelementptr i64, ptr %what, i64 1
  %second.at = getelementptr i64, ptr %what, i64 2
  %third.at = getelementptr i64, ptr %what, i64 3
  switch i64 %kind, label %give.up [
    i64 $boolean, label %a.boolean
    i64 $integer, label %an.integer
    i64 $single, label %a.float
    i64 $double, label %a.float
    i64 $tensor, label %a.tensor
    i64 $tuple, label %a.tuple
    i64 $data, label %data
  ]

; --- the value is a word, and need not be kept alive

put:
  %word = phi i64 [ 1, %a.boolean ], [ 0, %perhaps.false ], [ %number, %in.range ],
                  [ %single.word, %a.single ], [ %double.word, %a.double ],
                  [ %tensor.word.seen, %tensor.look ], [ %value.word, %a.value ],
                  [ %value.word.seen, %value.look ], [ %nil, %a.list ],
                  [ %list.word.seen, %list.look ], [ %none.word, %perhaps.none ]
  %put.memory = load ptr, ptr %entries
  store i64 %word, ptr %put.memory[%to]
  %put.held = load i64, ptr %is.held
  br ne i64 %put.held, 0, label %let.go, label %dropped
let.go:
  store i64 0, ptr %is.held
  call void %drop(ptr %object)
  br label %dropped
dropped:
  br label %next
"""
)

END: Final = """
; --- the end

finish:
  %all = load ptr, ptr %entries
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %words, ptr align 8 %all, i64 %words.bytes,
                                   i1 false)
  %buffer = getelementptr i8, ptr %all, i64 %words.bytes
  store ptr %buffer, ptr %request[i64 2]
  store i64 %n, ptr %request[i64 3]
  %held.used = load i64, ptr %held[16]
  %holds = icmp ne i64 %held.used, 0
  %answer = select i1 %holds, i32 $holds, i32 $read
  ret i32 %answer

give.up:
  %clear = load ptr, ptr %api[$at_pyerr_clear]
  call void %clear()
  %last.held = load i64, ptr %is.held
  br ne i64 %last.held, 0, label %drop.last, label %drop.next
drop.last:
  %last = load ptr, ptr %current
  call void %drop(ptr %last)
  br label %drop.next
drop.next:
  %waiting = load i64, ptr %work.used
  br ne i64 %waiting, 0, label %drop.take, label %gone
drop.take:
  %waiting.less = sub i64 %waiting, 32
  store i64 %waiting.less, ptr %work.used
  %waiting.memory = load ptr, ptr %work
  %waits = getelementptr i8, ptr %waiting.memory, i64 %waiting.less
  %waits.held = load i64, ptr %waits[i64 3]
  br ne i64 %waits.held, 0, label %drop.waiting, label %drop.next
drop.waiting:
  %waits.object = load ptr, ptr %waits
  call void %drop(ptr %waits.object)
  br label %drop.next
gone:
  call void @relay_end_reading(ptr %reading)
  ret i32 $gave_up
}
"""

# functions that the blocks call
STEPS: Final = """
; Push a value to be read.
define internal i1 @relay_add_value(ptr %reading, ptr %object, i64 %record, i64 %to, i64 %is.held)
    nounwind {
entry:
  %room = call ptr @relay_room(ptr %reading[$reading_work], i64 32)
  br eq ptr %room, null, label %fail, label %fill
fill:
  store ptr %object, ptr %room
  store i64 %record, ptr %room[i64 1]
  store i64 %to, ptr %room[i64 2]
  store i64 %is.held, ptr %room[i64 3]
  ret i1 true
fail:
  ret i1 false
}

; Keep the current value alive until the end of the call, if its reference is ours.
define internal i1 @relay_keep(ptr %held, ptr %object, ptr %is.held) nounwind {
entry:
  %flag = load i64, ptr %is.held
  br ne i64 %flag, 0, label %add, label %done
add:
  %room = call ptr @relay_room(ptr %held, i64 8)
  br eq ptr %room, null, label %fail, label %keep
keep:
  store ptr %object, ptr %room
  store i64 0, ptr %is.held
  br label %done
done:
  ret i1 true
fail:
  ret i1 false
}
"""
