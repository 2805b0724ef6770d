"""Export of the results of a native program, in LLVM IR: `relay_export` of `exchange.py`.

Every object is written once: it is marked in its kind, and its index replaces one of its fields.
Linked lists become one entry, a chain.
"""

from __future__ import annotations

from typing import Final

CHAIN: Final = 4  # in addition to the kinds of objects
MARK: Final = 16  # added to the kind of an exported object

TEXT: Final = """
; The exported form of a word: a number, or twice the index of an exported object.
define internal i64 @relay_word_outside(i64 %word) nounwind {
entry:
  %odd = trunc i64 %word to i1
  br i1 %odd, label %number, label %object
number:
  ret i64 %word
object:
  %at = inttoptr i64 %word to ptr
  %kind = load i32, ptr %at[$kind]
  br eq i32 %kind, $mark, label %a.tensor, label %others
a.tensor:
  %index.wide = load i64, ptr %at[$tensor_data]
  br label %done
others:
  %index.narrow = load i32, ptr %at[$detail]
  %index.zext = zext i32 %index.narrow to i64
  br label %done
done:
  %index = phi i64 [ %index.wide, %a.tensor ], [ %index.zext, %others ]
  %twice = shl i64 %index, 1
  ret i64 %twice
}

; A copy of a constant, or of a closure: constants cannot be marked.
define internal ptr @relay_stand_in(ptr %context, ptr %tensor) nounwind {
entry:
  %kind = load i32, ptr %tensor[$kind]
  br eq i32 %kind, $tensor, label %a.tensor, label %a.closure
a.closure:
  %closure = call ptr @relay_new_object(ptr %context, i32 $closure, i32 0, i32 0, i32 0)
  ret ptr %closure
a.tensor:
  %rank.narrow = load i32, ptr %tensor[$detail]
  %rank = zext i32 %rank.narrow to i64
  %header = call ptr @relay_new_header(ptr %context, i64 %rank)
  br eq ptr %header, null, label %done, label %fill
fill:
  %from = getelementptr i8, ptr %tensor, i64 $tensor_data
  %to = getelementptr i8, ptr %header, i64 $tensor_data
  %dims = shl i64 %rank, 3
  %bytes = add i64 %dims, 24             ; data, owner and bytes precede the dims
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 %bytes, i1 false)
  store i64 $external, ptr %header[$tensor_owner]
  br label %done
done:
  ret ptr %header
}

; Write the entry of a tensor and mark it with its index.
define internal i1 @relay_export_tensor(ptr %context, ptr %tensor, i64 %index) nounwind {
entry:
  %rank.narrow = load i32, ptr %tensor[$detail]
  %rank = zext i32 %rank.narrow to i64
  %words = add i64 %rank, 5
  %bytes.words = shl i64 %words, 3
  %entry.at = call ptr @relay_room(ptr %context[$exported], i64 %bytes.words)
  br eq ptr %entry.at, null, label %fail, label %write
write:
  store i64 $tensor, ptr %entry.at
  store i64 %rank, ptr %entry.at[i64 1]
  %bytes = load i64, ptr %tensor[$tensor_bytes]
  store i64 %bytes, ptr %entry.at[i64 3]
  %dims.from = getelementptr i8, ptr %tensor, i64 $tensor_dims
  %dims.to = getelementptr i64, ptr %entry.at, i64 5
  %dims.bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %dims.to, ptr align 8 %dims.from, i64 %dims.bytes,
                                   i1 false)
  %data = load ptr, ptr %tensor[$tensor_data]
  %owner = load i64, ptr %tensor[$tensor_owner]
  %device = load ptr, ptr %context[$device]
  br eq ptr %device, null, label %near, label %fetch

fetch:                                   ; a copy of elements that the host cannot read
  %fetch.small = icmp ule i64 %bytes, $small
  br i1 %fetch.small, label %fetch.few, label %fetch.many
fetch.few:
  %fetch.beyond = add i64 %bytes, 63
  %fetch.rounded = and i64 %fetch.beyond, -64
  %fetch.elements = getelementptr i8, ptr %context, i64 $elements
  %fetch.offset = load i64, ptr %fetch.elements[16]
  %fetch.room = call ptr @relay_room(ptr %fetch.elements, i64 %fetch.rounded)
  br eq ptr %fetch.room, null, label %fail, label %fetch.copy
fetch.copy:
  %fetch.status = call i32 @relay_read_device(ptr %context, ptr %fetch.room, ptr %data, i64 %bytes)
  store i64 %fetch.offset, ptr %entry.at[i64 2]
  store i64 $inline, ptr %entry.at[i64 4]
  br eq i32 %fetch.status, 0, label %marked, label %fail
fetch.many:
  %fetch.block = call ptr @relay_new_block(ptr %context, i64 %bytes)
  br eq ptr %fetch.block, null, label %fail, label %fetch.block.copy
fetch.block.copy:
  %fetch.block.status = call i32 @relay_read_device(ptr %context, ptr %fetch.block, ptr %data,
                                                    i64 %bytes)
  br eq i32 %fetch.block.status, 0, label %fetch.take, label %fail
fetch.take:
  store ptr %fetch.block, ptr %entry.at[i64 2]
  %fetch.base = call ptr @relay_take_block(ptr %context, ptr %fetch.block)
  store ptr %fetch.base, ptr %entry.at[i64 4]
  br label %marked

near:
  %few = icmp ule i64 %bytes, $small
  %apart = icmp ne i64 %owner, $block    ; the index below overwrites the address of a block
  %small = and i1 %few, %apart
  br i1 %small, label %copy, label %whose

copy:                                    ; at multiples of 64 bytes
  %bytes.beyond = add i64 %bytes, 63
  %bytes.rounded = and i64 %bytes.beyond, -64
  %elements = getelementptr i8, ptr %context, i64 $elements
  %offset = load i64, ptr %elements[16]
  %room = call ptr @relay_room(ptr %elements, i64 %bytes.rounded)
  br eq ptr %room, null, label %fail, label %copied
copied:
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %room, ptr align 1 %data, i64 %bytes, i1 false)
  store i64 %offset, ptr %entry.at[i64 2]
  store i64 $inline, ptr %entry.at[i64 4]
  br label %marked

whose:
  store ptr %data, ptr %entry.at[i64 2]
  %viewed = icmp ugt i64 %owner, $external
  %owner.tensor = inttoptr i64 %owner to ptr
  %root = select i1 %viewed, ptr %owner.tensor, ptr %tensor
  %root.owner = load i64, ptr %root[$tensor_owner]
  br eq i64 %root.owner, $block, label %take, label %leave
take:                                    ; once; other views copy it
  %root.data = load ptr, ptr %root[$tensor_data]
  %base = call ptr @relay_take_block(ptr %context, ptr %root.data)
  store i64 $external, ptr %root[$tensor_owner]
  store ptr %base, ptr %entry.at[i64 4]
  br label %marked
leave:
  store i64 $external, ptr %entry.at[i64 4]
  br label %marked

marked:
  store i64 %index, ptr %tensor[$tensor_data]
  store i32 $mark, ptr %tensor[$kind]
  ret i1 true
fail:
  ret i1 false
}

; Write the entry of data whose fields are exported, or of a cell, whose contents come later.
define internal i1 @relay_export_words(ptr %context, ptr %object, i64 %index) nounwind {
entry:
  %kind = load i32, ptr %object[$kind]
  %detail = load i32, ptr %object[$detail]
  %objects.narrow = load i32, ptr %object[$objects]
  %objects = zext i32 %objects.narrow to i64
  %words.narrow = load i32, ptr %object[$words]
  %words = zext i32 %words.narrow to i64
  %exported = getelementptr i8, ptr %context, i64 $exported
  %position = load i64, ptr %exported[16]
  %closure = icmp eq i32 %kind, $closure
  %places = add i64 %words, 4
  %length = select i1 %closure, i64 1, i64 %places
  %length.bytes = shl i64 %length, 3
  %entry.at = call ptr @relay_room(ptr %exported, i64 %length.bytes)
  br eq ptr %entry.at, null, label %fail, label %write
write:
  %index.narrow = trunc i64 %index to i32
  store i32 %index.narrow, ptr %object[$detail]
  %marked = or i32 %kind, $mark
  store i32 %marked, ptr %object[$kind]
  %kind.wide = zext i32 %kind to i64
  store i64 %kind.wide, ptr %entry.at
  br i1 %closure, label %done, label %write.more
write.more:
  %to = getelementptr i64, ptr %entry.at, i64 4
  br eq i32 %kind, $reference, label %a.cell, label %data
a.cell:
  store i64 %objects, ptr %entry.at[i64 1]
  store i64 %words, ptr %entry.at[i64 2]
  store ptr %object, ptr %entry.at[i64 3]
  %cell.room = call ptr @relay_room(ptr %context[$cells], i64 8)
  br eq ptr %cell.room, null, label %fail, label %note
note:
  store i64 %position, ptr %cell.room
  br label %done
data:
  %tag = zext i32 %detail to i64
  store i64 %tag, ptr %entry.at[i64 1]
  store i64 %objects, ptr %entry.at[i64 2]
  store i64 %words, ptr %entry.at[i64 3]
  call void @relay_words_outside(ptr %object[$data_words], ptr %to, i64 %objects, i64 %words)
  br label %done
done:
  ret i1 true
fail:
  ret i1 false
}

define internal void @relay_words_outside(ptr %from, ptr %to, i64 %objects, i64 %words) nounwind {
entry:
  br label %next
next:
  %w = phi i64 [ 0, %entry ], [ %w.next, %store ]
  br ult i64 %w, %words, label %read, label %done
read:
  %given = load i64, ptr %from[i64 %w]
  br ult i64 %w, %objects, label %convert, label %store
convert:
  %outside = call i64 @relay_word_outside(i64 %given)
  br label %store
store:
  %value = phi i64 [ %given, %read ], [ %outside, %convert ]
  store i64 %value, ptr %to[i64 %w]
  %w.next = add i64 %w, 1
  br label %next
done:
  ret void
}

; Whether a word refers to unexported data of the given kind, tag and sizes.
define internal i1 @relay_goes_on(i64 %word, i64 %kind.tag, i64 %sizes) alwaysinline nounwind {
entry:
  %odd = trunc i64 %word to i1
  br i1 %odd, label %no, label %object
object:
  %at = inttoptr i64 %word to ptr
  %its.kind.tag = load i64, ptr %at[$kind]
  br eq i64 %its.kind.tag, %kind.tag, label %like, label %no
like:
  %its.sizes = load i64, ptr %at[$objects]
  %same.sizes = icmp eq i64 %its.sizes, %sizes
  ret i1 %same.sizes
no:
  ret i1 false
}

; Write the entry of data whose fields are exported, or of the chain it begins. Returns the number
; of objects, or 0 without memory.
define internal i64 @relay_export_data(ptr %context, ptr %head, i64 %index) nounwind {
entry:
  %kind.tag = load i64, ptr %head[$kind]
  %sizes = load i64, ptr %head[$objects]
  %objects = and i64 %sizes, 4294967295
  %words = lshr i64 %sizes, 32
  br ne i64 %objects, 0, label %look, label %single
look:
  %before = sub i64 %objects, 1          ; object words before the link
  %after = sub i64 %words, %objects
  %link.words = getelementptr i8, ptr %head, i64 $data_words
  %link = load i64, ptr %link.words[i64 %before]
  %chained = call i1 @relay_goes_on(i64 %link, i64 %kind.tag, i64 %sizes)
  br i1 %chained, label %chain, label %single
single:
  %fine = call i1 @relay_export_words(ptr %context, ptr %head, i64 %index)
  %one = zext i1 %fine to i64
  ret i64 %one

chain:
  %exported = getelementptr i8, ptr %context, i64 $exported
  %position = load i64, ptr %exported[16]
  %header = call ptr @relay_room(ptr %exported, i64 48)
  br eq ptr %header, null, label %fail, label %cells
cells:
  %row = sub i64 %words, 1
  %row.bytes = shl i64 %row, 3
  br label %cell
cell:
  %n = phi i64 [ 0, %cells ], [ %n.next, %written ]
  %object = phi ptr [ %head, %cells ], [ %next, %written ]
  %room = call ptr @relay_room(ptr %exported, i64 %row.bytes)
  br eq ptr %room, null, label %fail, label %write
write:
  %from = getelementptr i8, ptr %object, i64 $data_words
  call void @relay_words_outside(ptr %from, ptr %room, i64 %before, i64 %before)
  %next.at = getelementptr i64, ptr %from, i64 %before
  call void @relay_words_outside(ptr %next.at[i64 1], ptr %room[i64 %before], i64 0, i64 %after)
  %its.index = add i64 %index, %n
  %its.index.narrow = trunc i64 %its.index to i32
  store i32 %its.index.narrow, ptr %object[$detail]
  %kind = load i32, ptr %object[$kind]
  %marked = or i32 %kind, $mark
  store i32 %marked, ptr %object[$kind]
  %n.next = add i64 %n, 1
  %next.word = load i64, ptr %next.at
  %more = call i1 @relay_goes_on(i64 %next.word, i64 %kind.tag, i64 %sizes)
  br i1 %more, label %written, label %end
written:
  %next = inttoptr i64 %next.word to ptr
  br label %cell
end:
  %memory = load ptr, ptr %exported      ; it may have moved
  %entry.at = getelementptr i8, ptr %memory, i64 %position
  store i64 $chain, ptr %entry.at
  %tag = lshr i64 %kind.tag, 32
  store i64 %tag, ptr %entry.at[i64 1]
  store i64 %objects, ptr %entry.at[i64 2]
  store i64 %words, ptr %entry.at[i64 3]
  store i64 %n.next, ptr %entry.at[i64 4]
  %end.word = call i64 @relay_word_outside(i64 %next.word)
  store i64 %end.word, ptr %entry.at[i64 5]
  ret i64 %n.next
fail:
  ret i64 0
}

; Export everything reachable from `count` words, children first. `number` is the next index.
;
; The buffer `WORK` is a stack of (next word, words left, object they belong to). When no words are
; left, the object is written. A chain is one item, which moves from object to object.
define internal i1 @relay_export_all(ptr %context, ptr %first, i64 %count, ptr %number) nounwind {
entry:
  %work = getelementptr i8, ptr %context, i64 $work
  store i64 0, ptr %work[16]
  br label %push
push:
  %words = phi ptr [ %first, %entry ], [ %parts, %deeper ]
  %words.count = phi i64 [ %count, %entry ], [ %parts.count, %deeper ]
  %whose = phi ptr [ null, %entry ], [ %object, %deeper ]
  %pushed = call ptr @relay_room(ptr %work, i64 24)
  br eq ptr %pushed, null, label %fail, label %fill
fill:
  store ptr %words, ptr %pushed
  store i64 %words.count, ptr %pushed[i64 1]
  store ptr %whose, ptr %pushed[i64 2]
  br label %look

look:
  %memory = load ptr, ptr %work
  %used = load i64, ptr %work[16]
  %end = getelementptr i8, ptr %memory, i64 %used
  %top = getelementptr i8, ptr %end, i64 -24
  %word.at = load ptr, ptr %top
  %left = load i64, ptr %top[i64 1]
  br eq i64 %left, 0, label %pop, label %visit

visit:
  %word.next = getelementptr i64, ptr %word.at, i64 1
  store ptr %word.next, ptr %top
  %left.less = sub i64 %left, 1
  store i64 %left.less, ptr %top[i64 1]
  %word = load i64, ptr %word.at
  %odd = trunc i64 %word to i1
  br i1 %odd, label %look, label %an.object
an.object:
  %given = inttoptr i64 %word to ptr
  %held = load i64, ptr %given
  br slt i64 %held, 0, label %constant, label %own
constant:
  %stand.in = call ptr @relay_stand_in(ptr %context, ptr %given)
  br eq ptr %stand.in, null, label %fail, label %replace
replace:
  store ptr %stand.in, ptr %word.at
  br label %own
own:
  %object = phi ptr [ %given, %an.object ], [ %stand.in, %replace ]
  %kind = load i32, ptr %object[$kind]
  %seen.bit = and i32 %kind, $mark
  br ne i32 %seen.bit, 0, label %look, label %unseen
unseen:
  switch i32 %kind, label %write [
    i32 $tensor, label %a.tensor
    i32 $data, label %descend
  ]
descend:
  %parts = getelementptr i8, ptr %object, i64 $data_words
  %parts.narrow = load i32, ptr %object[$objects]
  %parts.count = zext i32 %parts.narrow to i64
  %head = load ptr, ptr %top[i64 2]
  %has.head = icmp ne ptr %head, null
  %last = icmp eq i64 %left.less, 0
  %leads.on = and i1 %has.head, %last
  br i1 %leads.on, label %follow, label %deeper
follow:
  %head.kind.tag = load i64, ptr %head[$kind]
  %head.sizes = load i64, ptr %head[$objects]
  %object.word = ptrtoint ptr %object to i64
  %chained = call i1 @relay_goes_on(i64 %object.word, i64 %head.kind.tag, i64 %head.sizes)
  br i1 %chained, label %along, label %deeper
along:
  store ptr %parts, ptr %top
  store i64 %parts.count, ptr %top[i64 1]
  br label %look
deeper:
  br label %push

a.tensor:
  %index.tensor = load i64, ptr %number
  %fine.tensor = call i1 @relay_export_tensor(ptr %context, ptr %object, i64 %index.tensor)
  %index.tensor.next = add i64 %index.tensor, 1
  store i64 %index.tensor.next, ptr %number
  br i1 %fine.tensor, label %look, label %fail

pop:
  %owner = load ptr, ptr %top[i64 2]
  %used.less = sub i64 %used, 24
  store i64 %used.less, ptr %work[16]
  br eq ptr %owner, null, label %done, label %data
data:
  %index.data = load i64, ptr %number
  %written = call i64 @relay_export_data(ptr %context, ptr %owner, i64 %index.data)
  %index.data.next = add i64 %index.data, %written
  store i64 %index.data.next, ptr %number
  br ne i64 %written, 0, label %look, label %fail

write:
  %index = load i64, ptr %number
  %fine = call i1 @relay_export_words(ptr %context, ptr %object, i64 %index)
  %index.next = add i64 %index, 1
  store i64 %index.next, ptr %number
  br i1 %fine, label %look, label %fail
done:
  ret i1 true
fail:
  ret i1 false
}

define i32 @relay_export(ptr %context, ptr %words, ptr %positions, i64 %count) nounwind {
entry:
  %number = alloca i64
  store i64 0, ptr %number
  %exported = getelementptr i8, ptr %context, i64 $exported
  call void @relay_empty(ptr %exported)
  call void @relay_empty(ptr %context[$elements])
  call void @relay_empty(ptr %context[$work])
  %cells = getelementptr i8, ptr %context, i64 $cells
  call void @relay_empty(ptr %cells)
  %roots.bytes = shl i64 %count, 3
  %roots.room = call ptr @relay_room(ptr %exported, i64 %roots.bytes)
  br eq ptr %roots.room, null, label %fail, label %root
root:
  %r = phi i64 [ 0, %entry ], [ %r.next, %root.done ]
  br ult i64 %r, %count, label %root.visit, label %cells.begin
root.visit:
  %position = load i32, ptr %positions[i32 %r]
  %place = getelementptr i64, ptr %words, i32 %position
  %fine = call i1 @relay_export_all(ptr %context, ptr %place, i64 1, ptr %number)
  br i1 %fine, label %root.done, label %fail
root.done:
  %value = load i64, ptr %place
  %outside = call i64 @relay_word_outside(i64 %value)
  %roots = load ptr, ptr %exported
  store i64 %outside, ptr %roots[i64 %r]
  %r.next = add i64 %r, 1
  br label %root

cells.begin:                             ; their contents may refer to further cells
  br label %cell.look
cell.look:
  %c = phi i64 [ 0, %cells.begin ], [ %c.next, %cell.done ]
  %cells.used = load i64, ptr %cells[16]
  %cells.count = lshr i64 %cells.used, 3
  br ult i64 %c, %cells.count, label %cell, label %done
cell:
  %cells.memory = load ptr, ptr %cells
  %offset = load i64, ptr %cells.memory[i64 %c]
  %memory = load ptr, ptr %exported
  %cell.entry = getelementptr i8, ptr %memory, i64 %offset
  %address = load ptr, ptr %cell.entry[i64 3]
  %contents = getelementptr i8, ptr %address, i64 $reference_words
  %held.narrow = load i32, ptr %address[$objects]
  %held = zext i32 %held.narrow to i64
  %words.narrow = load i32, ptr %address[$words]
  %words.count = zext i32 %words.narrow to i64
  %cell.fine = call i1 @relay_export_all(ptr %context, ptr %contents, i64 %held, ptr %number)
  br i1 %cell.fine, label %cell.done, label %fail
cell.done:
  %memory.now = load ptr, ptr %exported
  %entry.now = getelementptr i8, ptr %memory.now, i64 %offset
  call void @relay_words_outside(ptr %contents, ptr %entry.now[i64 4], i64 %held, i64 %words.count)
  %c.next = add i64 %c, 1
  br label %cell.look
done:
  ret i32 0
fail:
  ret i32 $out_of_memory
}
"""
