"""Arguments and results of native programs as words, in LLVM IR.

    i32  relay_import(ptr context, ptr buffer, i64 count, ptr table)
    i32  relay_export(ptr context, ptr words, ptr positions, i64 count)
    i32  relay_perform(ptr request)
    void relay_end(ptr context)
    void relay_close(ptr context)

**In.** The buffer is an array of i64, one entry after the other, in any order:

    TENSOR + 256 * index      rank  address  bytes  dims…     of memory that outlives the call
    DATA + 256 * index        tag  objects  words  word…
    REFERENCE + 256 * index   objects  words  word…

The indices are 0 to `count` - 1. An object word in it is odd, as everywhere, or `2 * index` of an
entry. The table receives the address of each object. Only the words of the buffer count as
references.

**Out.** The words at the given positions of an array are exported with everything reachable from
them, every object once, to the buffer `EXPORTED` of the context:

    count words, for the positions
    TENSOR      rank  address  bytes  owner  dims…
    DATA        tag  objects  words  word…
    CHAIN       tag  objects  words  count  end  word…
    REFERENCE   objects  words  address  word…
    CLOSURE                                         without contents

Objects are numbered from 0; children come first, except those of cells, and in chains. A chain is
a linked list: `count` data objects of one constructor, each of which refers to the next by its last
object word. It is one entry, with the words of all objects without these links; `end` is the last
link. `owner` is INLINE where the elements were copied, and the address is an offset into the buffer
`ELEMENTS`; EXTERNAL where they are still in place; otherwise the receiver owns the memory, and
passes `owner` to `relay_free_block`. Exported objects can only be released afterwards.

**A whole call** is a request of ten words:

    context  function  buffer  count  words  results  imported  imports  exported  exports

`words` is the address of an array of results, arguments, and other words that are kept alive until
the export. The words at the positions `imported[0 … imports)`, i32, are object words of the import;
those at the positions `exported` are exported.
"""

from __future__ import annotations

from typing import Final

from relay.native import export, heap, layout
from relay.native.notation import assemble
from relay.target.llvm import abi

FUNCTIONS: Final = ("relay_import", "relay_export", "relay_perform", "relay_end", "relay_close")


def text() -> str:
    """All functions."""
    names = layout.numbers(
        chain=export.CHAIN,
        mark=export.MARK,
        out_of_memory=abi.OUT_OF_MEMORY,
        small=heap.SMALL,
    )
    return assemble(_BUFFERS + _IMPORT + export.TEXT + _CALL, names)


_BUFFERS: Final = """
declare ptr @realloc(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Append `bytes` to a buffer: their address, or null.
define internal ptr @relay_room(ptr %buffer, i64 %bytes) nounwind {
entry:
  %memory = load ptr, ptr %buffer
  %capacity = load i64, ptr %buffer[8]
  %used = load i64, ptr %buffer[16]
  %after = add i64 %used, %bytes
  br ult i64 %after, %capacity, label %take, label %grow ; never null for 0 bytes
grow:
  %twice = shl i64 %after, 1
  %wanted = call i64 @llvm.umax.i64(i64 %twice, i64 4096)
  %larger = call ptr @realloc(ptr %memory, i64 %wanted)
  br eq ptr %larger, null, label %fail, label %grown
grown:
  store ptr %larger, ptr %buffer
  store i64 %wanted, ptr %buffer[8]
  br label %take
take:
  %begin = phi ptr [ %memory, %entry ], [ %larger, %grown ]
  store i64 %after, ptr %buffer[16]
  %room = getelementptr i8, ptr %begin, i64 %used
  ret ptr %room
fail:
  ret ptr null
}

define internal void @relay_empty(ptr %buffer) nounwind {
entry:
  store i64 0, ptr %buffer[16]
  %capacity = load i64, ptr %buffer[8]
  br ugt i64 %capacity, 16777216, label %drop, label %done
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
  store i64 0, ptr %buffer[8]
  store i64 0, ptr %buffer[16]
  ret void
}
"""

_IMPORT: Final = """
; The object of a word of the buffer, retained.
define internal i64 @relay_resolve(i64 %word, ptr %table) alwaysinline nounwind {
entry:
  %odd = trunc i64 %word to i1
  br i1 %odd, label %number, label %object
number:
  ret i64 %word
object:
  %index = lshr i64 %word, 1
  %found = load ptr, ptr %table[ptr %index]
  %count = load i64, ptr %found
  %more = add i64 %count, 1
  store i64 %more, ptr %found
  %address = ptrtoint ptr %found to i64
  ret i64 %address
}

define i32 @relay_import(ptr %context, ptr %buffer, i64 %count, ptr %table) nounwind {
entry:
  %device = load ptr, ptr %context[$device]
  br ne i64 %count, 0, label %make, label %done

; first allocate all objects, with unresolved words
make:
  %i = phi i64 [ 0, %entry ], [ %i.next, %made ]
  %at = phi ptr [ %buffer, %entry ], [ %at.next, %made ]
  %first.word = load i64, ptr %at
  %kind = and i64 %first.word, 255
  %first = load i64, ptr %at[i64 1]
  %second = load i64, ptr %at[i64 2]
  %third.at = getelementptr i64, ptr %at, i64 3
  br eq i64 %kind, $tensor, label %a.tensor, label %others
others:
  br eq i64 %kind, $reference, label %a.cell, label %data

a.tensor:
  %bytes = load i64, ptr %third.at
  br eq ptr %device, null, label %here, label %there
here:
  %header.here = call ptr @relay_new_header(ptr %context, i64 %first)
  br eq ptr %header.here, null, label %fail, label %fill.here
fill.here:
  store i64 %second, ptr %header.here[$tensor_data]
  store i64 $external, ptr %header.here[$tensor_owner]
  store i64 %bytes, ptr %header.here[$tensor_bytes]
  br label %fill.tensor
there:
  %header.there = call ptr @relay_new_device_tensor(ptr %context, i64 %first, i64 %bytes)
  br eq ptr %header.there, null, label %fail, label %write
write:
  %elements = inttoptr i64 %second to ptr
  %there.data = load ptr, ptr %header.there[$tensor_data]
  %written = call i32 @relay_write_device(ptr %context, ptr %there.data, ptr %elements, i64 %bytes)
  br eq i32 %written, 0, label %fill.tensor, label %fail
fill.tensor:
  %header = phi ptr [ %header.here, %fill.here ], [ %header.there, %write ]
  %dims.from = getelementptr i64, ptr %at, i64 4
  %dims.to = getelementptr i8, ptr %header, i64 $tensor_dims
  br label %copy
a.cell:
  %cell.objects = trunc i64 %first to i32
  %cell.words = trunc i64 %second to i32
  %made.cell = call ptr @relay_new_object(ptr %context, i32 $reference, i32 0, i32 %cell.objects,
                                          i32 %cell.words)
  br eq ptr %made.cell, null, label %fail, label %fill.cell
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
  br eq ptr %made.data, null, label %fail, label %fill.data
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
  br ult i64 %w, %length, label %copy.word, label %made
copy.word:
  %word = load i64, ptr %from[i64 %w]
  store i64 %word, ptr %to[i64 %w]
  %w.next = add i64 %w, 1
  br label %copy.look
made:
  store i64 0, ptr %object
  %index = lshr i64 %first.word, 8
  store ptr %object, ptr %table[ptr %index]
  %i.next = add i64 %i, 1
  br ult i64 %i.next, %count, label %make, label %connect

; then resolve their words
connect:
  %c = phi i64 [ 0, %made ], [ %c.next, %connected ]
  %current = load ptr, ptr %table[ptr %c]
  %current.kind = load i32, ptr %current[$kind]
  br eq i32 %current.kind, $tensor, label %connected, label %with.words
with.words:
  %kind.wide = zext i32 %current.kind to i64
  %kind.bytes = shl i64 %kind.wide, 3
  %offset = add i64 %kind.bytes, 16
  %places = getelementptr i8, ptr %current, i64 %offset
  %held.narrow = load i32, ptr %current[$objects]
  %held = zext i32 %held.narrow to i64
  br label %held.look
held.look:
  %h = phi i64 [ 0, %with.words ], [ %h.next, %held.word ]
  br ult i64 %h, %held, label %held.resolve, label %connected
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
  br ult i64 %c.next, %count, label %connect, label %done
done:
  ret i32 0
fail:                                    ; the words of cells are not resolved yet
  %status = phi i32 [ $out_of_memory, %here ], [ $out_of_memory, %there ], [ %written, %write ],
                    [ $out_of_memory, %a.cell ], [ $out_of_memory, %data ]
  store ptr null, ptr %context[$references]
  ret i32 %status
}
"""

_CALL: Final = """
define i32 @relay_perform(ptr %request) nounwind {
entry:
  %context = load ptr, ptr %request
  %function = load ptr, ptr %request[i64 1]
  %buffer = load ptr, ptr %request[i64 2]
  %count = load i64, ptr %request[i64 3]
  %words = load ptr, ptr %request[i64 4]
  %results = load i64, ptr %request[i64 5]
  %imported = load ptr, ptr %request[i64 6]
  %imports = load i64, ptr %request[i64 7]
  %exported = load ptr, ptr %request[i64 8]
  %exports = load i64, ptr %request[i64 9]
  store i64 0, ptr %context[$leaked]
  store i64 -1, ptr %context[$site]             ; outside the program

  %work = getelementptr i8, ptr %context, i64 $work
  call void @relay_empty(ptr %work)
  %table.bytes = shl i64 %count, 3
  %table = call ptr @relay_room(ptr %work, i64 %table.bytes)
  br eq ptr %table, null, label %failed, label %import
import:
  %import.status = call i32 @relay_import(ptr %context, ptr %buffer, i64 %count, ptr %table)
  br eq i32 %import.status, 0, label %argument, label %failed
argument:
  %a = phi i64 [ 0, %import ], [ %a.next, %argument.put ]
  br ult i64 %a, %imports, label %argument.put, label %run
argument.put:
  %position = load i32, ptr %imported[i32 %a]
  %place = getelementptr i64, ptr %words, i32 %position
  %word = load i64, ptr %place
  %object = call i64 @relay_resolve(i64 %word, ptr %table)
  store i64 %object, ptr %place
  %a.next = add i64 %a, 1
  br label %argument
run:
  %args = getelementptr i64, ptr %words, i64 %results
  %run.status = call i32 @relay_enter(ptr %context, ptr %function, ptr %args, ptr %words)
  br eq i32 %run.status, 0, label %export, label %failed
export:
  %wait.status = call i32 @relay_wait_for_device(ptr %context)
  br eq i32 %wait.status, 0, label %write.out, label %failed
write.out:
  %export.status = call i32 @relay_export(ptr %context, ptr %words, ptr %exported, i64 %exports)
  br eq i32 %export.status, 0, label %result, label %failed
result:
  %r = phi i64 [ 0, %write.out ], [ %r.next, %result.end ]
  br ult i64 %r, %exports, label %result.release, label %end
result.release:
  %result.position = load i32, ptr %exported[i32 %r]
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
                    [ %run.status, %run ], [ %wait.status, %export ],
                    [ %export.status, %write.out ]
  call void @relay_reset(ptr %context)
  call void @relay_shrink(ptr %context)
  ret i32 %status
}

; Free what a call has left.
define void @relay_end(ptr %context) nounwind {
entry:
  call void @relay_free_cells(ptr %context)
  %made = load i64, ptr %context[$made]
  %freed = load i64, ptr %context[$freed]
  %live = sub i64 %made, %freed
  store i64 %live, ptr %context[$leaked]
  br eq i64 %live, 0, label %done, label %reset
reset:
  call void @relay_reset(ptr %context)
  br label %done
done:
  call void @relay_shrink(ptr %context)
  ret void
}

; Return all memory of a context to the system.
define void @relay_close(ptr %context) nounwind {
  call void @relay_close_heap(ptr %context)
  call void @relay_close_device(ptr %context)
  call void @relay_close_stack(ptr %context)
  call void @relay_drop_buffer(ptr %context[$exported])
  call void @relay_drop_buffer(ptr %context[$elements])
  call void @relay_drop_buffer(ptr %context[$work])
  call void @relay_drop_buffer(ptr %context[$cells])
  ret void
}
"""
