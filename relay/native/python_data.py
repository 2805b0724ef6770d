"""Reads Python tuples, lists and data: basic blocks of `relay_read` (`python_walk.py`)."""

from __future__ import annotations

from typing import Final

BLOCKS: Final = """
; --- tuples: their items are alive as long as they are

a.tuple:
  br eq ptr %type, %tuple.type, label %tuple.measure, label %give.up
tuple.measure:
  %parts = call i64 %tuple.size(ptr %object)
  %parts.wanted = load i64, ptr %first.at
  br eq i64 %parts, %parts.wanted, label %tuple.keep, label %give.up
tuple.keep:
  %tuple.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %tuple.kept, label %tuple.next, label %give.up
tuple.next:
  %p = phi i64 [ 0, %tuple.keep ], [ %p.next, %tuple.add ]
  br ult i64 %p, %parts, label %tuple.add, label %next
tuple.add:
  %part = call ptr %tuple.item(ptr %object, i64 %p)
  %part.what = getelementptr { i64, i64 }, ptr %second.at, i64 %p
  %part.record = load i64, ptr %part.what
  %part.place = load i64, ptr %part.what[i64 1]
  %part.offset = shl i64 %part.place, 3
  %part.to = add i64 %to, %part.offset
  %part.added = call i1 @relay_add_value(ptr %reading, ptr %part, i64 %part.record, i64 %part.to,
                                         i64 0)
  %p.next = add i64 %p, 1
  br i1 %part.added, label %tuple.next, label %give.up

; --- data

data:
  %classes.offset = load i64, ptr %first.at
  %classes = getelementptr i8, ptr %plan, i64 %classes.offset
  %class.bytes = load i64, ptr %second.at
  %classes.count = load i64, ptr %third.at
  %cons = load i64, ptr %what[i64 4]
  %nil = load i64, ptr %what[i64 5]
  %some = load i64, ptr %what[i64 6]
  %none.word = load i64, ptr %what[i64 7]
  %is.list = icmp eq ptr %type, %list.type
  %has.lists = icmp ne i64 %cons, 0
  %as.list = and i1 %is.list, %has.lists
  br i1 %as.list, label %a.list, label %not.a.list
not.a.list:
  %is.option = icmp ne i64 %some, 0
  br i1 %is.option, label %perhaps.none, label %class.next
perhaps.none:
  br eq ptr %object, %none, label %put, label %class.next
class.next:
  %c = phi i64 [ 0, %not.a.list ], [ 0, %perhaps.none ], [ %c.next, %class.other ]
  %class = phi ptr [ %classes, %not.a.list ], [ %classes, %perhaps.none ],
                   [ %class.after, %class.other ]
  br ult i64 %c, %classes.count, label %class.look, label %give.up
class.look:
  %class.type = load ptr, ptr %class
  br eq ptr %class.type, %type, label %class.found, label %class.other
class.other:
  %c.next = add i64 %c, 1
  %class.after = getelementptr i8, ptr %class, i64 %class.bytes
  br label %class.next
class.found:
  %case.at = getelementptr i64, ptr %class, i64 1
  %case.offset = load i64, ptr %case.at
  br ne i64 %case.offset, 0, label %a.value, label %no.value
no.value:
  br i1 %is.option, label %a.some, label %give.up

a.value:
  %case = getelementptr i8, ptr %plan, i64 %case.offset
  %value.word = load i64, ptr %case
  br ne i64 %value.word, 0, label %put, label %value.find
value.find:
  %value.slot = call ptr @relay_seen(ptr %reading, i64 %address, i64 %record)
  br eq ptr %value.slot, null, label %give.up, label %value.look
value.look:
  %value.word.seen = load i64, ptr %value.slot
  br ne i64 %value.word.seen, -1, label %put, label %value.new
value.new:
  %value.word.new = shl i64 %n, 1
  store i64 %value.word.new, ptr %value.slot
  %value.base = call i64 @relay_begin_entry(ptr %entries, ptr %case, i64 %n, i64 1, i64 %to)
  br slt i64 %value.base, 0, label %give.up, label %value.keep
value.keep:
  %n.value = add i64 %n, 1
  %fields = load i64, ptr %case[i64 4]
  %value.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %value.kept, label %field.next, label %give.up
field.next:
  %f = phi i64 [ 0, %value.keep ], [ %f.next, %field.added ]
  br ult i64 %f, %fields, label %field.get, label %next
field.get:
  %f.next = add i64 %f, 1
  %name = load ptr, ptr %case.at[i64 %f.next]
  %field = call ptr %get.attribute(ptr %object, ptr %name)
  br eq ptr %field, null, label %give.up, label %field.add
field.add:
  %field.first = getelementptr i64, ptr %case, i64 5
  %field.what = getelementptr { i64, i64 }, ptr %field.first, i64 %f
  %field.record = load i64, ptr %field.what
  %field.place = load i64, ptr %field.what[i64 1]
  %field.offset = shl i64 %field.place, 3
  %field.to = add i64 %value.base, %field.offset
  %field.fine = call i1 @relay_add_value(ptr %reading, ptr %field, i64 %field.record,
                                         i64 %field.to, i64 1)
  br i1 %field.fine, label %field.added, label %field.lost
field.added:
  br label %field.next
field.lost:
  call void %drop(ptr %field)
  br label %give.up

; --- lists: consecutive entries, each the tail of the one before

a.list:
  %size.of.list = call i64 %list.size(ptr %object)
  br eq i64 %size.of.list, 0, label %put, label %list.find
list.find:
  %list.slot = call ptr @relay_seen(ptr %reading, i64 %address, i64 %record)
  br eq ptr %list.slot, null, label %give.up, label %list.look
list.look:
  %list.word.seen = load i64, ptr %list.slot
  br ne i64 %list.word.seen, -1, label %put, label %list.new
list.new:
  %list.word.new = shl i64 %n, 1
  store i64 %list.word.new, ptr %list.slot
  %cons.case = getelementptr i8, ptr %plan, i64 %cons
  %list.base = call i64 @relay_begin_entry(ptr %entries, ptr %cons.case, i64 %n,
                                           i64 %size.of.list, i64 %to)
  br slt i64 %list.base, 0, label %give.up, label %list.keep
list.keep:
  %n.list = add i64 %n, %size.of.list
  %element.record = load i64, ptr %cons.case[i64 5]
  %element.place = load i64, ptr %cons.case[i64 6]
  %rest.place = load i64, ptr %cons.case[i64 8]
  %cons.words = load i64, ptr %cons.case[i64 3]
  %cons.length = add i64 %cons.words, 4
  %cons.bytes = shl i64 %cons.length, 3
  %element.offset = shl i64 %element.place, 3
  %element.first = add i64 %list.base, %element.offset
  %rest.offset = shl i64 %rest.place, 3
  %rest.first = add i64 %list.base, %rest.offset
  %list.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %list.kept, label %element.next, label %give.up
element.next:
  %e = phi i64 [ 0, %list.keep ], [ %e.next, %element.added ]
  %element.to = phi i64 [ %element.first, %list.keep ], [ %element.to.next, %element.added ]
  %rest.to = phi i64 [ %rest.first, %list.keep ], [ %rest.to.next, %element.added ]
  br ult i64 %e, %size.of.list, label %element.get, label %next
element.get:
  %element = call ptr %list.item(ptr %object, i64 %e)
  br eq ptr %element, null, label %give.up, label %element.add
element.add:
  %element.fine = call i1 @relay_add_value(ptr %reading, ptr %element, i64 %element.record,
                                           i64 %element.to, i64 1)
  br i1 %element.fine, label %element.added, label %give.up
element.added:
  call void %hold(ptr %element)
  %e.next = add i64 %e, 1
  %is.last = icmp eq i64 %e.next, %size.of.list
  %rest.number = add i64 %n, %e.next
  %rest.word = shl i64 %rest.number, 1
  %rest = select i1 %is.last, i64 %nil, i64 %rest.word
  %rest.memory = load ptr, ptr %entries
  store i64 %rest, ptr %rest.memory[%rest.to]
  %element.to.next = add i64 %element.to, %cons.bytes
  %rest.to.next = add i64 %rest.to, %cons.bytes
  br label %element.next

; --- options: the same value again, as the content

a.some:
  %some.case = getelementptr i8, ptr %plan, i64 %some
  %some.base = call i64 @relay_begin_entry(ptr %entries, ptr %some.case, i64 %n, i64 1, i64 %to)
  br slt i64 %some.base, 0, label %give.up, label %some.fill
some.fill:
  %n.some = add i64 %n, 1
  %inside.record = load i64, ptr %some.case[i64 5]
  %inside.place = load i64, ptr %some.case[i64 6]
  %inside.offset = shl i64 %inside.place, 3
  %inside.to = add i64 %some.base, %inside.offset
  %inside.held = load i64, ptr %is.held
  %inside.fine = call i1 @relay_add_value(ptr %reading, ptr %object, i64 %inside.record,
                                          i64 %inside.to, i64 %inside.held)
  br i1 %inside.fine, label %some.inside, label %give.up
some.inside:
  store i64 0, ptr %is.held
  br label %next
"""

# functions that the blocks call
ENTRIES: Final = """
; Append `count` entries of a case, numbered from `n`, with unset words; store the word of the first
; at `to`. Returns the offset of the words of the first, or -1.
define internal i64 @relay_begin_entry(ptr %entries, ptr %case, i64 %n, i64 %count, i64 %to)
    nounwind {
entry:
  %tag = load i64, ptr %case[i64 1]
  %objects = load i64, ptr %case[i64 2]
  %words = load i64, ptr %case[i64 3]
  %length = add i64 %words, 4
  %all = mul i64 %length, %count
  %bytes = shl i64 %all, 3
  %offset = load i64, ptr %entries[16]
  %room = call ptr @relay_room(ptr %entries, i64 %bytes)
  br eq ptr %room, null, label %fail, label %name
name:
  %memory = load ptr, ptr %entries
  %word = shl i64 %n, 1
  store i64 %word, ptr %memory[%to]
  br label %next
next:
  %i = phi i64 [ 0, %name ], [ %i.next, %next ]
  %start = mul i64 %i, %length
  %head = getelementptr i64, ptr %room, i64 %start
  %number = add i64 %n, %i
  %index = shl i64 %number, 8
  %kind = or i64 %index, $entry_data
  store i64 %kind, ptr %head
  store i64 %tag, ptr %head[i64 1]
  store i64 %objects, ptr %head[i64 2]
  store i64 %words, ptr %head[i64 3]
  %i.next = add i64 %i, 1
  br ult i64 %i.next, %count, label %next, label %done
done:
  %base = add i64 %offset, 32
  ret i64 %base
fail:
  ret i64 -1
}
"""
