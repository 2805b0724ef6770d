"""Values cross the border of a native program as words, as LLVM IR.

    i32  relay_import(ptr context, ptr buffer, i64 count, ptr table)
    i32  relay_export(ptr context, ptr words, ptr positions, i64 count)
    i32  relay_perform(ptr request)
    void relay_end(ptr context)
    void relay_close(ptr context)

**In.** The buffer is an array of i64, one entry after the other, in any order:

    TENSOR + 256 * index      rank  address  bytes  dims…     memory that outlives the call
    DATA + 256 * index        tag  objects  words  word…
    REFERENCE + 256 * index   objects  words  word…

The indices are 0 to `count` - 1. An object word in it is odd, as everywhere, or `2 * index` of an
entry. The address of each object is stored in the table, at its index. It is held by the words that
name it: one that none names is never freed by counting.

**Out.** The words at the given positions of an array are exported with all they lead to, every
object once. They are written to the buffer `EXPORTED` of the context:

    count words, for the positions
    TENSOR      rank  address  bytes  owner  dims…
    DATA        tag  objects  words  word…
    CHAIN       tag  objects  words  count  end  word…
    REFERENCE   objects  words  address  word…
    CLOSURE                                         which have no meaning elsewhere

Objects are counted from 0; children come first, except those of cells, and in chains. A chain is
data of one form of which each leads to the next by its last object word: the cells of a list. So
many of them are one entry, and counted one after the other from the first on. Their words are there
without those that lead to the next; `end` is the one of the last. `owner` says whose the
memory is: INLINE, then the elements were copied, and the address is an offset into the buffer
`ELEMENTS`; EXTERNAL, they are still where they were; otherwise the memory is the receiver's from
now on, who gives it to `relay_free_block` in the end. What was exported can only be released
afterwards.

**A whole call** is a request of ten words:

    context  function  buffer  count  words  results  imported  imports  exported  exports

`words` is the address of an array with places for results, followed by arguments and what else
there is. At the positions `imported[0 … imports)`, i32, are object words of the import, which are
replaced; `exported` are the positions of what is exported. The function takes its arguments and
gives its results there; what is at other positions is held until the export.
"""

from __future__ import annotations

from string import Template
from typing import Final

from relay.native import heap, layout
from relay.target import abi

CHAIN: Final = 4  # besides the kinds of objects
MARK: Final = 16  # in the kind of an object that was exported; its index is where it has room

FUNCTIONS: Final = ("relay_import", "relay_export", "relay_perform", "relay_end", "relay_close")


def text() -> str:
    """The functions above."""
    return _BUFFERS.substitute(layout.numbers()) + "".join(
        part.substitute(
            layout.numbers(),
            chain=CHAIN,
            mark=MARK,
            out_of_memory=abi.OUT_OF_MEMORY,
            small=heap.SMALL,
        )
        for part in (_IMPORT, _EXPORT, _CALL)
    )


_BUFFERS: Final = Template("""
declare ptr @realloc(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; `bytes` more of a buffer, or null.
define internal ptr @relay_room(ptr %buffer, i64 %bytes) nounwind {
entry:
  %memory = load ptr, ptr %buffer
  %capacity.at = getelementptr i8, ptr %buffer, i64 8
  %capacity = load i64, ptr %capacity.at
  %used.at = getelementptr i8, ptr %buffer, i64 16
  %used = load i64, ptr %used.at
  %after = add i64 %used, %bytes
  %fits = icmp ult i64 %after, %capacity ; so that there is memory even for no bytes
  br i1 %fits, label %take, label %grow
grow:
  %twice = shl i64 %after, 1
  %wanted = call i64 @llvm.umax.i64(i64 %twice, i64 4096)
  %larger = call ptr @realloc(ptr %memory, i64 %wanted)
  %none = icmp eq ptr %larger, null
  br i1 %none, label %fail, label %grown
grown:
  store ptr %larger, ptr %buffer
  store i64 %wanted, ptr %capacity.at
  br label %take
take:
  %begin = phi ptr [ %memory, %entry ], [ %larger, %grown ]
  store i64 %after, ptr %used.at
  %room = getelementptr i8, ptr %begin, i64 %used
  ret ptr %room
fail:
  ret ptr null
}

define internal void @relay_empty(ptr %buffer) nounwind {
entry:
  %used.at = getelementptr i8, ptr %buffer, i64 16
  store i64 0, ptr %used.at
  %capacity.at = getelementptr i8, ptr %buffer, i64 8
  %capacity = load i64, ptr %capacity.at
  %large = icmp ugt i64 %capacity, 16777216
  br i1 %large, label %drop, label %done
drop:
  call void @relay_drop_buffer(ptr %buffer)
  br label %done
done:
  ret void
}

define internal void @relay_drop_buffer(ptr %buffer) nounwind {
  %memory = load ptr, ptr %buffer
  call void @free(ptr %memory)
  store ptr null, ptr %buffer
  %capacity.at = getelementptr i8, ptr %buffer, i64 8
  store i64 0, ptr %capacity.at
  %used.at = getelementptr i8, ptr %buffer, i64 16
  store i64 0, ptr %used.at
  ret void
}
""")

_IMPORT: Final = Template("""
; The object a word of the buffer means, held once more.
define internal i64 @relay_resolve(i64 %word, ptr %table) alwaysinline nounwind {
entry:
  %odd = trunc i64 %word to i1
  br i1 %odd, label %number, label %object
number:
  ret i64 %word
object:
  %index = lshr i64 %word, 1
  %object.at = getelementptr ptr, ptr %table, i64 %index
  %found = load ptr, ptr %object.at
  %count = load i64, ptr %found
  %more = add i64 %count, 1
  store i64 %more, ptr %found
  %address = ptrtoint ptr %found to i64
  ret i64 %address
}

define i32 @relay_import(ptr %context, ptr %buffer, i64 %count, ptr %table) nounwind {
entry:
  %any = icmp ne i64 %count, 0
  br i1 %any, label %make, label %done

; first all objects, with the words as they are
make:
  %i = phi i64 [ 0, %entry ], [ %i.next, %made ]
  %at = phi ptr [ %buffer, %entry ], [ %at.next, %made ]
  %first.word = load i64, ptr %at
  %kind = and i64 %first.word, 255
  %first.at = getelementptr i64, ptr %at, i64 1
  %first = load i64, ptr %first.at
  %second.at = getelementptr i64, ptr %at, i64 2
  %second = load i64, ptr %second.at
  %third.at = getelementptr i64, ptr %at, i64 3
  %tensor = icmp eq i64 %kind, $tensor
  br i1 %tensor, label %a.tensor, label %others
others:
  %cell = icmp eq i64 %kind, $reference
  br i1 %cell, label %a.cell, label %data

a.tensor:
  %header = call ptr @relay_new_header(ptr %context, i64 %first)
  %no.header = icmp eq ptr %header, null
  br i1 %no.header, label %fail, label %fill.tensor
fill.tensor:
  %address.at = getelementptr i8, ptr %header, i64 $tensor_data
  store i64 %second, ptr %address.at
  %owner.at = getelementptr i8, ptr %header, i64 $tensor_owner
  store i64 $external, ptr %owner.at
  %bytes = load i64, ptr %third.at
  %bytes.at = getelementptr i8, ptr %header, i64 $tensor_bytes
  store i64 %bytes, ptr %bytes.at
  %dims.from = getelementptr i64, ptr %at, i64 4
  %dims.to = getelementptr i8, ptr %header, i64 $tensor_dims
  br label %copy
a.cell:
  %cell.objects = trunc i64 %first to i32
  %cell.words = trunc i64 %second to i32
  %made.cell = call ptr @relay_new_object(ptr %context, i32 $reference, i32 0, i32 %cell.objects,
                                          i32 %cell.words)
  %no.cell = icmp eq ptr %made.cell, null
  br i1 %no.cell, label %fail, label %fill.cell
fill.cell:
  %contents = getelementptr i8, ptr %made.cell, i64 $reference_words
  br label %copy
data:
  %third = load i64, ptr %third.at
  %tag = trunc i64 %first to i32
  %objects = trunc i64 %second to i32
  %words = trunc i64 %third to i32
  %made.data = call ptr @relay_new_object(ptr %context, i32 $data, i32 %tag, i32 %objects,
                                          i32 %words)
  %no.data = icmp eq ptr %made.data, null
  br i1 %no.data, label %fail, label %fill.data
fill.data:
  %words.from = getelementptr i64, ptr %at, i64 4
  %words.to = getelementptr i8, ptr %made.data, i64 $data_words
  br label %copy

copy:
  %object = phi ptr [ %header, %fill.tensor ], [ %made.cell, %fill.cell ],
                    [ %made.data, %fill.data ]
  %from = phi ptr [ %dims.from, %fill.tensor ], [ %third.at, %fill.cell ],
                  [ %words.from, %fill.data ]
  %to = phi ptr [ %dims.to, %fill.tensor ], [ %contents, %fill.cell ], [ %words.to, %fill.data ]
  %length = phi i64 [ %first, %fill.tensor ], [ %second, %fill.cell ], [ %third, %fill.data ]
  %at.next = getelementptr i64, ptr %from, i64 %length
  br label %copy.look
copy.look:
  %w = phi i64 [ 0, %copy ], [ %w.next, %copy.word ]
  %copy.left = icmp ult i64 %w, %length
  br i1 %copy.left, label %copy.word, label %made
copy.word:
  %word.from = getelementptr i64, ptr %from, i64 %w
  %word = load i64, ptr %word.from
  %word.to = getelementptr i64, ptr %to, i64 %w
  store i64 %word, ptr %word.to
  %w.next = add i64 %w, 1
  br label %copy.look
made:
  store i64 0, ptr %object
  %index = lshr i64 %first.word, 8
  %object.at = getelementptr ptr, ptr %table, i64 %index
  store ptr %object, ptr %object.at
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %make, label %connect

; then what their words mean
connect:
  %c = phi i64 [ 0, %made ], [ %c.next, %connected ]
  %connected.object.at = getelementptr ptr, ptr %table, i64 %c
  %current = load ptr, ptr %connected.object.at
  %current.kind.at = getelementptr i8, ptr %current, i64 $kind
  %current.kind = load i32, ptr %current.kind.at
  %without = icmp eq i32 %current.kind, $tensor
  br i1 %without, label %connected, label %with.words
with.words:
  %kind.wide = zext i32 %current.kind to i64
  %kind.bytes = shl i64 %kind.wide, 3
  %offset = add i64 %kind.bytes, 16
  %places = getelementptr i8, ptr %current, i64 %offset
  %held.at = getelementptr i8, ptr %current, i64 $objects
  %held.narrow = load i32, ptr %held.at
  %held = zext i32 %held.narrow to i64
  br label %held.look
held.look:
  %h = phi i64 [ 0, %with.words ], [ %h.next, %held.word ]
  %held.left = icmp ult i64 %h, %held
  br i1 %held.left, label %held.resolve, label %connected
held.resolve:
  %place = getelementptr i64, ptr %places, i64 %h
  %given = load i64, ptr %place
  %resolved = call i64 @relay_resolve(i64 %given, ptr %table)
  br label %held.word
held.word:
  store i64 %resolved, ptr %place
  %h.next = add i64 %h, 1
  br label %held.look
connected:
  %c.next = add i64 %c, 1
  %connect.more = icmp ult i64 %c.next, %count
  br i1 %connect.more, label %connect, label %done
done:
  ret i32 0
fail:                                    ; cells hold what is no object yet
  %list = getelementptr i8, ptr %context, i64 $references
  store ptr null, ptr %list
  ret i32 $out_of_memory
}
""")

_EXPORT: Final = Template("""
; What an exported word is outside: the object must have been exported, or be a number.
define internal i64 @relay_word_outside(i64 %word) nounwind {
entry:
  %odd = trunc i64 %word to i1
  br i1 %odd, label %number, label %object
number:
  ret i64 %word
object:
  %at = inttoptr i64 %word to ptr
  %kind.at = getelementptr i8, ptr %at, i64 $kind
  %kind = load i32, ptr %kind.at
  %tensor = icmp eq i32 %kind, $mark
  br i1 %tensor, label %a.tensor, label %others
a.tensor:
  %data.at = getelementptr i8, ptr %at, i64 $tensor_data
  %index.wide = load i64, ptr %data.at
  br label %done
others:
  %detail.at = getelementptr i8, ptr %at, i64 $detail
  %index.narrow = load i32, ptr %detail.at
  %index.zext = zext i32 %index.narrow to i64
  br label %done
done:
  %index = phi i64 [ %index.wide, %a.tensor ], [ %index.zext, %others ]
  %twice = shl i64 %index, 1
  ret i64 %twice
}

; A constant has no place for a mark: something that stands for it, in memory of this call.
define internal ptr @relay_stand_in(ptr %context, ptr %tensor) nounwind {
entry:
  %kind.at = getelementptr i8, ptr %tensor, i64 $kind
  %kind = load i32, ptr %kind.at
  %is.tensor = icmp eq i32 %kind, $tensor
  br i1 %is.tensor, label %a.tensor, label %a.closure
a.closure:
  %closure = call ptr @relay_new_object(ptr %context, i32 $closure, i32 0, i32 0, i32 0)
  ret ptr %closure
a.tensor:
  %rank.at = getelementptr i8, ptr %tensor, i64 $detail
  %rank.narrow = load i32, ptr %rank.at
  %rank = zext i32 %rank.narrow to i64
  %header = call ptr @relay_new_header(ptr %context, i64 %rank)
  %none = icmp eq ptr %header, null
  br i1 %none, label %done, label %fill
fill:
  %from = getelementptr i8, ptr %tensor, i64 $tensor_data
  %to = getelementptr i8, ptr %header, i64 $tensor_data
  %dims = shl i64 %rank, 3
  %bytes = add i64 %dims, 24             ; data, owner and bytes lie before the dims
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 %bytes, i1 false)
  %owner.at = getelementptr i8, ptr %header, i64 $tensor_owner
  store i64 $external, ptr %owner.at
  br label %done
done:
  ret ptr %header
}

; Write the entry of a tensor and mark it with its index.
define internal i1 @relay_export_tensor(ptr %context, ptr %tensor, i64 %index) nounwind {
entry:
  %rank.at = getelementptr i8, ptr %tensor, i64 $detail
  %rank.narrow = load i32, ptr %rank.at
  %rank = zext i32 %rank.narrow to i64
  %words = add i64 %rank, 5
  %bytes.words = shl i64 %words, 3
  %exported = getelementptr i8, ptr %context, i64 $exported
  %entry.at = call ptr @relay_room(ptr %exported, i64 %bytes.words)
  %no.room = icmp eq ptr %entry.at, null
  br i1 %no.room, label %fail, label %write
write:
  store i64 $tensor, ptr %entry.at
  %rank.to = getelementptr i64, ptr %entry.at, i64 1
  store i64 %rank, ptr %rank.to
  %bytes.at = getelementptr i8, ptr %tensor, i64 $tensor_bytes
  %bytes = load i64, ptr %bytes.at
  %bytes.to = getelementptr i64, ptr %entry.at, i64 3
  store i64 %bytes, ptr %bytes.to
  %dims.from = getelementptr i8, ptr %tensor, i64 $tensor_dims
  %dims.to = getelementptr i64, ptr %entry.at, i64 5
  %dims.bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %dims.to, ptr align 8 %dims.from, i64 %dims.bytes,
                                   i1 false)
  %address.to = getelementptr i64, ptr %entry.at, i64 2
  %owner.to = getelementptr i64, ptr %entry.at, i64 4
  %data.at = getelementptr i8, ptr %tensor, i64 $tensor_data
  %data = load ptr, ptr %data.at
  %small = icmp ule i64 %bytes, $small
  br i1 %small, label %copy, label %whose

copy:                                    ; on multiples of 64 bytes
  %bytes.beyond = add i64 %bytes, 63
  %bytes.rounded = and i64 %bytes.beyond, -64
  %elements = getelementptr i8, ptr %context, i64 $elements
  %used.at = getelementptr i8, ptr %elements, i64 16
  %offset = load i64, ptr %used.at
  %room = call ptr @relay_room(ptr %elements, i64 %bytes.rounded)
  %no.elements = icmp eq ptr %room, null
  br i1 %no.elements, label %fail, label %copied
copied:
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %room, ptr align 1 %data, i64 %bytes, i1 false)
  store i64 %offset, ptr %address.to
  store i64 $inline, ptr %owner.to
  br label %marked

whose:
  store ptr %data, ptr %address.to
  %owner.at = getelementptr i8, ptr %tensor, i64 $tensor_owner
  %owner = load i64, ptr %owner.at
  %viewed = icmp ugt i64 %owner, $external
  %owner.tensor = inttoptr i64 %owner to ptr
  %root = select i1 %viewed, ptr %owner.tensor, ptr %tensor
  %root.owner.at = getelementptr i8, ptr %root, i64 $tensor_owner
  %root.owner = load i64, ptr %root.owner.at
  %is.block = icmp eq i64 %root.owner, $block
  br i1 %is.block, label %take, label %leave
take:                                    ; once; others who have it copy it
  %root.data.at = getelementptr i8, ptr %root, i64 $tensor_data
  %root.data = load ptr, ptr %root.data.at
  %base = call ptr @relay_take_block(ptr %context, ptr %root.data)
  store i64 $external, ptr %root.owner.at
  store ptr %base, ptr %owner.to
  br label %marked
leave:
  store i64 $external, ptr %owner.to
  br label %marked

marked:
  store i64 %index, ptr %data.at
  %kind.at = getelementptr i8, ptr %tensor, i64 $kind
  store i32 $mark, ptr %kind.at
  ret i1 true
fail:
  ret i1 false
}

; Write the entry of data whose parts are exported, or of a cell, whose parts come later.
define internal i1 @relay_export_words(ptr %context, ptr %object, i64 %index) nounwind {
entry:
  %kind.at = getelementptr i8, ptr %object, i64 $kind
  %kind = load i32, ptr %kind.at
  %detail.at = getelementptr i8, ptr %object, i64 $detail
  %detail = load i32, ptr %detail.at
  %objects.at = getelementptr i8, ptr %object, i64 $objects
  %objects.narrow = load i32, ptr %objects.at
  %objects = zext i32 %objects.narrow to i64
  %words.at = getelementptr i8, ptr %object, i64 $words
  %words.narrow = load i32, ptr %words.at
  %words = zext i32 %words.narrow to i64
  %exported = getelementptr i8, ptr %context, i64 $exported
  %used.at = getelementptr i8, ptr %exported, i64 16
  %position = load i64, ptr %used.at
  %closure = icmp eq i32 %kind, $closure
  %places = add i64 %words, 4
  %length = select i1 %closure, i64 1, i64 %places
  %length.bytes = shl i64 %length, 3
  %entry.at = call ptr @relay_room(ptr %exported, i64 %length.bytes)
  %no.room = icmp eq ptr %entry.at, null
  br i1 %no.room, label %fail, label %write
write:
  %index.narrow = trunc i64 %index to i32
  store i32 %index.narrow, ptr %detail.at
  %marked = or i32 %kind, $mark
  store i32 %marked, ptr %kind.at
  %kind.wide = zext i32 %kind to i64
  store i64 %kind.wide, ptr %entry.at
  br i1 %closure, label %done, label %write.more
write.more:
  %first.to = getelementptr i64, ptr %entry.at, i64 1
  %second.to = getelementptr i64, ptr %entry.at, i64 2
  %third.to = getelementptr i64, ptr %entry.at, i64 3
  %to = getelementptr i64, ptr %entry.at, i64 4
  %is.cell = icmp eq i32 %kind, $reference
  br i1 %is.cell, label %a.cell, label %data
a.cell:
  store i64 %objects, ptr %first.to
  store i64 %words, ptr %second.to
  store ptr %object, ptr %third.to
  %cells = getelementptr i8, ptr %context, i64 $cells
  %cell.room = call ptr @relay_room(ptr %cells, i64 8)
  %no.cells = icmp eq ptr %cell.room, null
  br i1 %no.cells, label %fail, label %note
note:
  store i64 %position, ptr %cell.room
  br label %done
data:
  %tag = zext i32 %detail to i64
  store i64 %tag, ptr %first.to
  store i64 %objects, ptr %second.to
  store i64 %words, ptr %third.to
  %from = getelementptr i8, ptr %object, i64 $data_words
  call void @relay_words_outside(ptr %from, ptr %to, i64 %objects, i64 %words)
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
  %left = icmp ult i64 %w, %words
  br i1 %left, label %read, label %done
read:
  %word.from = getelementptr i64, ptr %from, i64 %w
  %given = load i64, ptr %word.from
  %is.object = icmp ult i64 %w, %objects
  br i1 %is.object, label %convert, label %store
convert:
  %outside = call i64 @relay_word_outside(i64 %given)
  br label %store
store:
  %value = phi i64 [ %given, %read ], [ %outside, %convert ]
  %word.to = getelementptr i64, ptr %to, i64 %w
  store i64 %value, ptr %word.to
  %w.next = add i64 %w, 1
  br label %next
done:
  ret void
}

; Whether a word leads to data of the form two words of another object say, not exported yet.
define internal i1 @relay_goes_on(i64 %word, i64 %kind.tag, i64 %sizes) alwaysinline nounwind {
entry:
  %odd = trunc i64 %word to i1
  br i1 %odd, label %no, label %object
object:
  %at = inttoptr i64 %word to ptr
  %kind.at = getelementptr i8, ptr %at, i64 $kind
  %its.kind.tag = load i64, ptr %kind.at
  %same.kind = icmp eq i64 %its.kind.tag, %kind.tag
  br i1 %same.kind, label %like, label %no
like:
  %sizes.at = getelementptr i8, ptr %at, i64 $objects
  %its.sizes = load i64, ptr %sizes.at
  %same.sizes = icmp eq i64 %its.sizes, %sizes
  ret i1 %same.sizes
no:
  ret i1 false
}

; Write the entry of data whose parts are exported, with the chain it begins. How many objects that
; are; 0 without memory.
define internal i64 @relay_export_data(ptr %context, ptr %head, i64 %index) nounwind {
entry:
  %kind.tag.at = getelementptr i8, ptr %head, i64 $kind
  %kind.tag = load i64, ptr %kind.tag.at
  %sizes.at = getelementptr i8, ptr %head, i64 $objects
  %sizes = load i64, ptr %sizes.at
  %objects = and i64 %sizes, 4294967295
  %words = lshr i64 %sizes, 32
  %some = icmp ne i64 %objects, 0
  br i1 %some, label %look, label %single
look:
  %before = sub i64 %objects, 1          ; object words before the one that leads on
  %after = sub i64 %words, %objects
  %link.words = getelementptr i8, ptr %head, i64 $data_words
  %link.at = getelementptr i64, ptr %link.words, i64 %before
  %link = load i64, ptr %link.at
  %chained = call i1 @relay_goes_on(i64 %link, i64 %kind.tag, i64 %sizes)
  br i1 %chained, label %chain, label %single
single:
  %fine = call i1 @relay_export_words(ptr %context, ptr %head, i64 %index)
  %one = zext i1 %fine to i64
  ret i64 %one

chain:
  %exported = getelementptr i8, ptr %context, i64 $exported
  %used.at = getelementptr i8, ptr %exported, i64 16
  %position = load i64, ptr %used.at
  %header = call ptr @relay_room(ptr %exported, i64 48)
  %no.header = icmp eq ptr %header, null
  br i1 %no.header, label %fail, label %cells
cells:
  %row = sub i64 %words, 1
  %row.bytes = shl i64 %row, 3
  br label %cell
cell:
  %n = phi i64 [ 0, %cells ], [ %n.next, %written ]
  %object = phi ptr [ %head, %cells ], [ %next, %written ]
  %room = call ptr @relay_room(ptr %exported, i64 %row.bytes)
  %no.room = icmp eq ptr %room, null
  br i1 %no.room, label %fail, label %write
write:
  %from = getelementptr i8, ptr %object, i64 $data_words
  call void @relay_words_outside(ptr %from, ptr %room, i64 %before, i64 %before)
  %next.at = getelementptr i64, ptr %from, i64 %before
  %rest.from = getelementptr i64, ptr %next.at, i64 1
  %rest.to = getelementptr i64, ptr %room, i64 %before
  call void @relay_words_outside(ptr %rest.from, ptr %rest.to, i64 0, i64 %after)
  %its.index = add i64 %index, %n
  %its.index.narrow = trunc i64 %its.index to i32
  %detail.at = getelementptr i8, ptr %object, i64 $detail
  store i32 %its.index.narrow, ptr %detail.at
  %kind.at = getelementptr i8, ptr %object, i64 $kind
  %kind = load i32, ptr %kind.at
  %marked = or i32 %kind, $mark
  store i32 %marked, ptr %kind.at
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
  %tag.to = getelementptr i64, ptr %entry.at, i64 1
  store i64 %tag, ptr %tag.to
  %objects.to = getelementptr i64, ptr %entry.at, i64 2
  store i64 %objects, ptr %objects.to
  %words.to = getelementptr i64, ptr %entry.at, i64 3
  store i64 %words, ptr %words.to
  %count.to = getelementptr i64, ptr %entry.at, i64 4
  store i64 %n.next, ptr %count.to
  %end.word = call i64 @relay_word_outside(i64 %next.word)
  %end.to = getelementptr i64, ptr %entry.at, i64 5
  store i64 %end.word, ptr %end.to
  ret i64 %n.next
fail:
  ret i64 0
}

; Export what `count` words lead to, children first. `number` is that of the next object.
;
; The work to do is pairs (first word, words left), a stack of the buffer `WORK`. When none is left
; of a pair, the object those words belong to, which is the third of it, is written. A chain is one
; pair, that moves from object to object.
define internal i1 @relay_export_all(ptr %context, ptr %first, i64 %count, ptr %number) nounwind {
entry:
  %work = getelementptr i8, ptr %context, i64 $work
  %work.used = getelementptr i8, ptr %work, i64 16
  store i64 0, ptr %work.used
  br label %push
push:
  %words = phi ptr [ %first, %entry ], [ %parts, %deeper ]
  %words.count = phi i64 [ %count, %entry ], [ %parts.count, %deeper ]
  %whose = phi ptr [ null, %entry ], [ %object, %deeper ]
  %pushed = call ptr @relay_room(ptr %work, i64 24)
  %no.room = icmp eq ptr %pushed, null
  br i1 %no.room, label %fail, label %fill
fill:
  store ptr %words, ptr %pushed
  %left.to = getelementptr i64, ptr %pushed, i64 1
  store i64 %words.count, ptr %left.to
  %whose.to = getelementptr i64, ptr %pushed, i64 2
  store ptr %whose, ptr %whose.to
  br label %look

look:
  %memory = load ptr, ptr %work
  %used = load i64, ptr %work.used
  %end = getelementptr i8, ptr %memory, i64 %used
  %top = getelementptr i8, ptr %end, i64 -24
  %word.at = load ptr, ptr %top
  %left.at = getelementptr i64, ptr %top, i64 1
  %left = load i64, ptr %left.at
  %exhausted = icmp eq i64 %left, 0
  br i1 %exhausted, label %pop, label %visit

visit:
  %word.next = getelementptr i64, ptr %word.at, i64 1
  store ptr %word.next, ptr %top
  %left.less = sub i64 %left, 1
  store i64 %left.less, ptr %left.at
  %word = load i64, ptr %word.at
  %odd = trunc i64 %word to i1
  br i1 %odd, label %look, label %an.object
an.object:
  %given = inttoptr i64 %word to ptr
  %held = load i64, ptr %given
  %immortal = icmp slt i64 %held, 0
  br i1 %immortal, label %constant, label %own
constant:
  %stand.in = call ptr @relay_stand_in(ptr %context, ptr %given)
  %no.stand.in = icmp eq ptr %stand.in, null
  br i1 %no.stand.in, label %fail, label %replace
replace:
  store ptr %stand.in, ptr %word.at
  br label %own
own:
  %object = phi ptr [ %given, %an.object ], [ %stand.in, %replace ]
  %kind.at = getelementptr i8, ptr %object, i64 $kind
  %kind = load i32, ptr %kind.at
  %seen.bit = and i32 %kind, $mark
  %seen = icmp ne i32 %seen.bit, 0
  br i1 %seen, label %look, label %unseen
unseen:
  switch i32 %kind, label %write [
    i32 $tensor, label %a.tensor
    i32 $data, label %descend
  ]
descend:
  %parts = getelementptr i8, ptr %object, i64 $data_words
  %parts.at = getelementptr i8, ptr %object, i64 $objects
  %parts.narrow = load i32, ptr %parts.at
  %parts.count = zext i32 %parts.narrow to i64
  %head.at = getelementptr i64, ptr %top, i64 2
  %head = load ptr, ptr %head.at
  %has.head = icmp ne ptr %head, null
  %last = icmp eq i64 %left.less, 0
  %leads.on = and i1 %has.head, %last
  br i1 %leads.on, label %follow, label %deeper
follow:
  %head.kind.tag.at = getelementptr i8, ptr %head, i64 $kind
  %head.kind.tag = load i64, ptr %head.kind.tag.at
  %head.sizes.at = getelementptr i8, ptr %head, i64 $objects
  %head.sizes = load i64, ptr %head.sizes.at
  %object.word = ptrtoint ptr %object to i64
  %chained = call i1 @relay_goes_on(i64 %object.word, i64 %head.kind.tag, i64 %head.sizes)
  br i1 %chained, label %along, label %deeper
along:
  store ptr %parts, ptr %top
  store i64 %parts.count, ptr %left.at
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
  %owner.at = getelementptr i64, ptr %top, i64 2
  %owner = load ptr, ptr %owner.at
  %used.less = sub i64 %used, 24
  store i64 %used.less, ptr %work.used
  %bottom = icmp eq ptr %owner, null
  br i1 %bottom, label %done, label %data
data:
  %index.data = load i64, ptr %number
  %written = call i64 @relay_export_data(ptr %context, ptr %owner, i64 %index.data)
  %index.data.next = add i64 %index.data, %written
  store i64 %index.data.next, ptr %number
  %any = icmp ne i64 %written, 0
  br i1 %any, label %look, label %fail

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
  %elements = getelementptr i8, ptr %context, i64 $elements
  call void @relay_empty(ptr %elements)
  %work = getelementptr i8, ptr %context, i64 $work
  call void @relay_empty(ptr %work)
  %cells = getelementptr i8, ptr %context, i64 $cells
  call void @relay_empty(ptr %cells)
  %roots.bytes = shl i64 %count, 3
  %roots.room = call ptr @relay_room(ptr %exported, i64 %roots.bytes)
  %no.roots = icmp eq ptr %roots.room, null
  br i1 %no.roots, label %fail, label %root
root:
  %r = phi i64 [ 0, %entry ], [ %r.next, %root.done ]
  %roots.left = icmp ult i64 %r, %count
  br i1 %roots.left, label %root.visit, label %cells.begin
root.visit:
  %position.at = getelementptr i32, ptr %positions, i64 %r
  %position = load i32, ptr %position.at
  %place = getelementptr i64, ptr %words, i32 %position
  %fine = call i1 @relay_export_all(ptr %context, ptr %place, i64 1, ptr %number)
  br i1 %fine, label %root.done, label %fail
root.done:
  %value = load i64, ptr %place
  %outside = call i64 @relay_word_outside(i64 %value)
  %roots = load ptr, ptr %exported
  %root.to = getelementptr i64, ptr %roots, i64 %r
  store i64 %outside, ptr %root.to
  %r.next = add i64 %r, 1
  br label %root

cells.begin:                             ; more may be found on the way
  br label %cell.look
cell.look:
  %c = phi i64 [ 0, %cells.begin ], [ %c.next, %cell.done ]
  %cells.used.at = getelementptr i8, ptr %cells, i64 16
  %cells.used = load i64, ptr %cells.used.at
  %cells.count = lshr i64 %cells.used, 3
  %cells.left = icmp ult i64 %c, %cells.count
  br i1 %cells.left, label %cell, label %done
cell:
  %cells.memory = load ptr, ptr %cells
  %offset.at = getelementptr i64, ptr %cells.memory, i64 %c
  %offset = load i64, ptr %offset.at
  %memory = load ptr, ptr %exported
  %cell.entry = getelementptr i8, ptr %memory, i64 %offset
  %address.at = getelementptr i64, ptr %cell.entry, i64 3
  %address = load ptr, ptr %address.at
  %contents = getelementptr i8, ptr %address, i64 $reference_words
  %held.at = getelementptr i8, ptr %address, i64 $objects
  %held.narrow = load i32, ptr %held.at
  %held = zext i32 %held.narrow to i64
  %words.at = getelementptr i8, ptr %address, i64 $words
  %words.narrow = load i32, ptr %words.at
  %words.count = zext i32 %words.narrow to i64
  %cell.fine = call i1 @relay_export_all(ptr %context, ptr %contents, i64 %held, ptr %number)
  br i1 %cell.fine, label %cell.done, label %fail
cell.done:
  %memory.now = load ptr, ptr %exported
  %entry.now = getelementptr i8, ptr %memory.now, i64 %offset
  %contents.to = getelementptr i64, ptr %entry.now, i64 4
  call void @relay_words_outside(ptr %contents, ptr %contents.to, i64 %held, i64 %words.count)
  %c.next = add i64 %c, 1
  br label %cell.look
done:
  ret i32 0
fail:
  ret i32 $out_of_memory
}
""")

_CALL: Final = Template("""
define i32 @relay_perform(ptr %request) nounwind {
entry:
  %context = load ptr, ptr %request
  %function.at = getelementptr i64, ptr %request, i64 1
  %function = load ptr, ptr %function.at
  %buffer.at = getelementptr i64, ptr %request, i64 2
  %buffer = load ptr, ptr %buffer.at
  %count.at = getelementptr i64, ptr %request, i64 3
  %count = load i64, ptr %count.at
  %words.at = getelementptr i64, ptr %request, i64 4
  %words = load ptr, ptr %words.at
  %results.at = getelementptr i64, ptr %request, i64 5
  %results = load i64, ptr %results.at
  %imported.at = getelementptr i64, ptr %request, i64 6
  %imported = load ptr, ptr %imported.at
  %imports.at = getelementptr i64, ptr %request, i64 7
  %imports = load i64, ptr %imports.at
  %exported.at = getelementptr i64, ptr %request, i64 8
  %exported = load ptr, ptr %exported.at
  %exports.at = getelementptr i64, ptr %request, i64 9
  %exports = load i64, ptr %exports.at
  %leaked.at = getelementptr i8, ptr %context, i64 $leaked
  store i64 0, ptr %leaked.at
  %site.at = getelementptr i8, ptr %context, i64 $site
  store i64 -1, ptr %site.at             ; not in the program

  %work = getelementptr i8, ptr %context, i64 $work
  call void @relay_empty(ptr %work)
  %table.bytes = shl i64 %count, 3
  %table = call ptr @relay_room(ptr %work, i64 %table.bytes)
  %no.table = icmp eq ptr %table, null
  br i1 %no.table, label %failed, label %import
import:
  %import.status = call i32 @relay_import(ptr %context, ptr %buffer, i64 %count, ptr %table)
  %import.fine = icmp eq i32 %import.status, 0
  br i1 %import.fine, label %argument, label %failed
argument:
  %a = phi i64 [ 0, %import ], [ %a.next, %argument.put ]
  %arguments.left = icmp ult i64 %a, %imports
  br i1 %arguments.left, label %argument.put, label %run
argument.put:
  %position.at = getelementptr i32, ptr %imported, i64 %a
  %position = load i32, ptr %position.at
  %place = getelementptr i64, ptr %words, i32 %position
  %word = load i64, ptr %place
  %object = call i64 @relay_resolve(i64 %word, ptr %table)
  store i64 %object, ptr %place
  %a.next = add i64 %a, 1
  br label %argument
run:
  %args = getelementptr i64, ptr %words, i64 %results
  %run.status = call i32 @relay_enter(ptr %context, ptr %function, ptr %args, ptr %words)
  %run.fine = icmp eq i32 %run.status, 0
  br i1 %run.fine, label %export, label %failed
export:
  %export.status = call i32 @relay_export(ptr %context, ptr %words, ptr %exported, i64 %exports)
  %export.fine = icmp eq i32 %export.status, 0
  br i1 %export.fine, label %result, label %failed
result:
  %r = phi i64 [ 0, %export ], [ %r.next, %result.end ]
  %results.left = icmp ult i64 %r, %exports
  br i1 %results.left, label %result.release, label %end
result.release:
  %result.position.at = getelementptr i32, ptr %exported, i64 %r
  %result.position = load i32, ptr %result.position.at
  %result.place = getelementptr ptr, ptr %words, i32 %result.position
  %result.word = load ptr, ptr %result.place
  call void @relay_release(ptr %context, ptr %result.word)
  br label %result.end
result.end:
  %r.next = add i64 %r, 1
  br label %result
end:
  call void @relay_end(ptr %context)
  ret i32 0
failed:
  %status = phi i32 [ $out_of_memory, %entry ], [ %import.status, %import ],
                    [ %run.status, %run ], [ %export.status, %export ]
  call void @relay_reset(ptr %context)
  call void @relay_shrink(ptr %context)
  ret i32 %status
}

; After a call: nothing of it stays.
define void @relay_end(ptr %context) nounwind {
entry:
  call void @relay_free_cells(ptr %context)
  %made.at = getelementptr i8, ptr %context, i64 $made
  %made = load i64, ptr %made.at
  %freed.at = getelementptr i8, ptr %context, i64 $freed
  %freed = load i64, ptr %freed.at
  %live = sub i64 %made, %freed
  %leaked.at = getelementptr i8, ptr %context, i64 $leaked
  store i64 %live, ptr %leaked.at
  %clean = icmp eq i64 %live, 0
  br i1 %clean, label %done, label %reset
reset:
  call void @relay_reset(ptr %context)
  br label %done
done:
  call void @relay_shrink(ptr %context)
  ret void
}

; The end of a context: all its memory goes back to the system.
define void @relay_close(ptr %context) nounwind {
  call void @relay_close_heap(ptr %context)
  call void @relay_close_stack(ptr %context)
  %exported = getelementptr i8, ptr %context, i64 $exported
  call void @relay_drop_buffer(ptr %exported)
  %elements = getelementptr i8, ptr %context, i64 $elements
  call void @relay_drop_buffer(ptr %elements)
  %work = getelementptr i8, ptr %context, i64 $work
  call void @relay_drop_buffer(ptr %work)
  %cells = getelementptr i8, ptr %context, i64 $cells
  call void @relay_drop_buffer(ptr %cells)
  ret void
}
""")
