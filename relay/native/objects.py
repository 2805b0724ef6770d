"""Reference-counted objects of native programs (`layout.py`), in LLVM IR.

    ptr  relay_new_tensor(ptr context, i64 rank, i64 bytes)
    ptr  relay_new_object(ptr context, i32 kind, i32 detail, i32 objects, i32 words)
    ptr  relay_new_view(ptr context, ptr tensor, i64 rank)
    void relay_retain(ptr word)          void relay_release(ptr context, ptr word)
    void relay_retain_object(ptr object) void relay_release_object(ptr context, ptr object)
    void relay_free(ptr context, ptr object)
    i32  relay_tick(ptr context)         ptr relay_frame(ptr context, i64 bytes)

New objects have one reference, the caller's; null when there is no memory. Dims and words are not
filled in. The elements of a tensor are at `data`, aligned to 64 bytes. A view shares the elements
of a tensor, and has a reference to the tensor that owns them, never to another view.

An object word may be a number, a constant or an object; the `_object` functions are for words that
are never numbers. Freeing an object does not recurse: objects to be freed are linked through their
counts. Code that knows the size of an object, and has moved its words out, frees it with
`relay_give`.

`inline_text` is for the module of a program: it defines the short functions, which LLVM inlines and
simplifies, and declares the others. `text` defines and exports all of them.
"""

from __future__ import annotations

import re
from typing import Final

from relay.native import heap, layout
from relay.native.notation import assemble

_DECLARATIONS: Final = """
declare ptr @relay_carve(ptr, i64) cold nounwind
declare ptr @relay_new_large(ptr, i64) cold nounwind
declare ptr @relay_new_large_tensor(ptr, i64, i64) nounwind
declare ptr @relay_new_view(ptr, ptr, i64) nounwind
declare void @relay_free(ptr, ptr) nounwind
declare ptr @relay_new_device_tensor(ptr, i64, i64) nounwind
declare i32 @relay_read_device(ptr, ptr, ptr, i64) nounwind
declare i32 @relay_poll(ptr) cold nounwind
declare ptr @relay_frame_more(ptr, i64) cold nounwind
"""
# Symbols of the runtime that programs refer to; the loader provides the addresses.
PROGRAM_IMPORTS: Final = tuple(re.findall(r"@(\w+)", _DECLARATIONS))


def inline_text() -> str:
    """Definitions and declarations for the module of a program."""
    return _DECLARATIONS + heap.fast_text() + _fast("internal ")


def text() -> str:
    """All functions."""
    return heap.fast_text() + _fast("") + assemble(_OBJECTS, layout.numbers())


def _fast(linkage: str) -> str:
    return assemble(_FAST, layout.numbers(linkage=linkage, small=heap.SMALL))


_FAST: Final = """
; --- allocation

define ${linkage}ptr @relay_new_tensor(ptr %context, i64 %rank, i64 %bytes)
    alwaysinline nounwind {
entry:
  %dims = shl i64 %rank, 3
  %beyond = add i64 %dims, 103           ; 40 bytes come before the dims
  %header = and i64 %beyond, -64
  %total = add i64 %header, %bytes
  %total.beyond = add i64 %total, 63
  %class = lshr i64 %total.beyond, 6
  %few = icmp ule i64 %bytes, $small
  %fits = icmp ult i64 %class, $small_classes
  %small = and i1 %few, %fits
  br i1 %small, label %inside, label %outside
outside:
  %large = call ptr @relay_new_large_tensor(ptr %context, i64 %rank, i64 %bytes)
  ret ptr %large
inside:
  %object = call ptr @relay_obtain(ptr %context, i64 %class)
  br eq ptr %object, null, label %fail, label %fill
fill:
  store i64 1, ptr %object
  %about = shl i64 %rank, 32
  store i64 %about, ptr %object[$kind]
  %data = getelementptr i8, ptr %object, i64 %header
  store ptr %data, ptr %object[$tensor_data]
  store i64 $inline, ptr %object[$tensor_owner]
  store i64 %bytes, ptr %object[$tensor_bytes]
  ret ptr %object
fail:
  ret ptr null
}

define ${linkage}ptr @relay_new_object(ptr %context, i32 %kind, i32 %detail, i32 %objects,
                                       i32 %words) alwaysinline nounwind {
entry:
  ; header of data: 24 bytes, of closures 32, of cells 40: 16 and 8 times the kind
  %kind.wide = zext i32 %kind to i64
  %words.wide = zext i32 %words to i64
  %places = add i64 %kind.wide, %words.wide
  %places.bytes = shl i64 %places, 3
  %bytes = add i64 %places.bytes, 16
  %beyond = add i64 %bytes, 63
  %class = lshr i64 %beyond, 6
  br ult i64 %class, $small_classes, label %usual, label %outside
outside:
  %large = call ptr @relay_new_large(ptr %context, i64 %bytes)
  br label %made
usual:
  %piece = call ptr @relay_obtain(ptr %context, i64 %class)
  br label %made
made:
  %object = phi ptr [ %piece, %usual ], [ %large, %outside ]
  br eq ptr %object, null, label %done, label %fill
fill:
  store i64 1, ptr %object
  store i32 %kind, ptr %object[$kind]
  store i32 %detail, ptr %object[$detail]
  store i32 %objects, ptr %object[$objects]
  store i32 %words, ptr %object[$words]
  br eq i32 %kind, $reference, label %link, label %done
link:
  %after = load ptr, ptr %context[$references]
  store ptr %after, ptr %object[$reference_next]
  store ptr null, ptr %object[$reference_previous]
  store ptr %object, ptr %context[$references]
  br eq ptr %after, null, label %done, label %link.back
link.back:
  store ptr %object, ptr %after[$reference_previous]
  br label %done
done:
  ret ptr %object
}

; --- reference counts

define ${linkage}void @relay_retain(ptr %word) alwaysinline nounwind {
entry:
  %number = ptrtoint ptr %word to i64
  %odd = trunc i64 %number to i1
  br i1 %odd, label %done, label %object
object:
  call void @relay_retain_object(ptr %word)
  br label %done
done:
  ret void
}

define ${linkage}void @relay_retain_object(ptr %object) alwaysinline nounwind {
entry:
  %count = load i64, ptr %object
  br slt i64 %count, 0, label %done, label %hold
hold:
  %more = add i64 %count, 1
  store i64 %more, ptr %object
  br label %done
done:
  ret void
}

define ${linkage}void @relay_release(ptr %context, ptr %word) alwaysinline nounwind {
entry:
  %number = ptrtoint ptr %word to i64
  %odd = trunc i64 %number to i1
  br i1 %odd, label %done, label %object
object:
  call void @relay_release_object(ptr %context, ptr %word)
  br label %done
done:
  ret void
}

define ${linkage}void @relay_release_object(ptr %context, ptr %object) alwaysinline nounwind {
entry:
  %count = load i64, ptr %object
  br sgt i64 %count, 1, label %let.go, label %last
let.go:
  %less = sub i64 %count, 1
  store i64 %less, ptr %object
  br label %done
last:
  br eq i64 %count, 1, label %free, label %done
free:
  call void @relay_free(ptr %context, ptr %object)
  br label %done
done:
  ret void
}

; --- polling and frames

; Count down at a call or loop iteration; nonzero when the run must end.
define ${linkage}i32 @relay_tick(ptr %context) alwaysinline nounwind {
entry:
  %countdown = load i64, ptr %context[$countdown]
  %less = sub i64 %countdown, 1
  store i64 %less, ptr %context[$countdown]
  br sle i64 %less, 0, label %poll, label %go.on
poll:
  %status = call i32 @relay_poll(ptr %context)
  ret i32 %status
go.on:
  ret i32 0
}

; Allocate aligned memory until the frame is reset, or null.
define ${linkage}ptr @relay_frame(ptr %context, i64 %bytes) alwaysinline nounwind {
entry:
  %frame = load ptr, ptr %context[$frame]
  %end = load i64, ptr %context[$frame_end]
  %begin = ptrtoint ptr %frame to i64
  %left = sub i64 %end, %begin           ; a multiple of 64
  br ule i64 %bytes, %left, label %take, label %more
take:
  %beyond = add i64 %bytes, 63
  %rounded = and i64 %beyond, -64
  %after = getelementptr i8, ptr %frame, i64 %rounded
  store ptr %after, ptr %context[$frame]
  ret ptr %frame
more:
  %given = call ptr @relay_frame_more(ptr %context, i64 %bytes)
  ret ptr %given
}
"""

_OBJECTS: Final = """
; --- allocation, rare cases

; Allocate an object that is too large for a slab.
define ptr @relay_new_large(ptr %context, i64 %bytes) noinline cold nounwind {
entry:
  %object = call ptr @relay_new_block(ptr %context, i64 %bytes)
  br eq ptr %object, null, label %done, label %count
count:
  %made = load i64, ptr %context[$made]
  %more = add i64 %made, 1
  store i64 %more, ptr %context[$made]
  br label %done
done:
  ret ptr %object
}

define internal ptr @relay_new_header(ptr %context, i64 %rank) alwaysinline nounwind {
entry:
  %class = call i64 @relay_header_class(i64 %rank)
  %object = call ptr @relay_obtain(ptr %context, i64 %class)
  br eq ptr %object, null, label %done, label %fill
fill:
  store i64 1, ptr %object
  %about = shl i64 %rank, 32
  store i64 %about, ptr %object[$kind]
  br label %done
done:
  ret ptr %object
}

define internal i64 @relay_header_class(i64 %rank) alwaysinline nounwind {
  %dims = shl i64 %rank, 3
  %beyond = add i64 %dims, 103
  %class = lshr i64 %beyond, 6
  ret i64 %class
}

; Allocate a tensor whose elements are in a block.
define ptr @relay_new_large_tensor(ptr %context, i64 %rank, i64 %bytes) noinline nounwind {
entry:
  %data = call ptr @relay_new_block(ptr %context, i64 %bytes)
  br eq ptr %data, null, label %fail, label %header
header:
  %object = call ptr @relay_new_header(ptr %context, i64 %rank)
  br eq ptr %object, null, label %give.back, label %fill
give.back:
  call preserve_mostcc void @relay_drop_block(ptr %context, ptr %data)
  ret ptr null
fill:
  store ptr %data, ptr %object[$tensor_data]
  store i64 $block, ptr %object[$tensor_owner]
  store i64 %bytes, ptr %object[$tensor_bytes]
  ret ptr %object
fail:
  ret ptr null
}

define ptr @relay_new_view(ptr %context, ptr %tensor, i64 %rank) nounwind {
entry:
  %object = call ptr @relay_new_header(ptr %context, i64 %rank)
  br eq ptr %object, null, label %fail, label %fill
fill:
  %data = load ptr, ptr %tensor[$tensor_data]
  store ptr %data, ptr %object[$tensor_data]
  %bytes = load i64, ptr %tensor[$tensor_bytes]
  store i64 %bytes, ptr %object[$tensor_bytes]
  %owner = load ptr, ptr %tensor[$tensor_owner]
  %owner.number = ptrtoint ptr %owner to i64
  %viewed = icmp ugt i64 %owner.number, $external
  %root = select i1 %viewed, ptr %owner, ptr %tensor
  store ptr %root, ptr %object[$tensor_owner]
  call void @relay_retain_object(ptr %root)
  ret ptr %object
fail:
  ret ptr null
}

; --- freeing

; Release a word; an object without references is prepended to the list `pending`.
define internal ptr @relay_let_go(ptr %word, ptr %pending) alwaysinline nounwind {
entry:
  %number = ptrtoint ptr %word to i64
  %odd = trunc i64 %number to i1
  br i1 %odd, label %done, label %object
object:
  %count = load i64, ptr %word
  br ne i64 %count, 1, label %held, label %last
held:
  br slt i64 %count, 0, label %done, label %less
less:
  %rest = sub i64 %count, 1
  store i64 %rest, ptr %word
  br label %done
last:
  store ptr %pending, ptr %word
  br label %done
done:
  %head = phi ptr [ %pending, %entry ], [ %pending, %held ], [ %pending, %less ], [ %word, %last ]
  ret ptr %head
}

define void @relay_free(ptr %context, ptr %object) noinline nounwind {
entry:
  store ptr null, ptr %object
  br label %next
next:
  %current = phi ptr [ %object, %entry ], [ %pending.data, %give.data ],
                     [ %pending.tensor, %give.tensor ], [ %pending.large, %give.large ]
  %waiting = load ptr, ptr %current
  %kind.mark = load i32, ptr %current[$kind]
  %kind = and i32 %kind.mark, 15         ; an export marks visited objects
  br eq i32 %kind, $tensor, label %a.tensor, label %words

words:
  %objects = load i32, ptr %current[$objects]
  %words.count = load i32, ptr %current[$words]
  %kind.wide = zext i32 %kind to i64
  %words.wide = zext i32 %words.count to i64
  %first.place = shl i64 %kind.wide, 3
  %first.offset = add i64 %first.place, 16
  %first = getelementptr i8, ptr %current, i64 %first.offset
  br eq i32 %kind, $reference, label %unlink, label %begin
unlink:
  call preserve_mostcc void @relay_unlink_cell(ptr %context, ptr %current)
  br label %begin
begin:
  %objects.wide = zext i32 %objects to i64
  br eq i32 %objects, 0, label %emptied, label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop.end ]
  %pending = phi ptr [ %waiting, %begin ], [ %pending.next, %loop.end ]
  %word = load ptr, ptr %first[ptr %i]
  %pending.next = call ptr @relay_let_go(ptr %word, ptr %pending)
  br label %loop.end
loop.end:
  %i.next = add i64 %i, 1
  br ult i64 %i.next, %objects.wide, label %loop, label %emptied
emptied:
  %pending.data = phi ptr [ %waiting, %begin ], [ %pending.next, %loop.end ]
  %places = add i64 %kind.wide, %words.wide
  %places.bytes = shl i64 %places, 3
  %beyond = add i64 %places.bytes, 79
  %class = lshr i64 %beyond, 6
  br ult i64 %class, $small_classes, label %give.data, label %give.large
give.data:
  call void @relay_give(ptr %context, ptr %current, i64 %class)
  br eq ptr %pending.data, null, label %done, label %next
give.large:
  %pending.large = phi ptr [ %pending.data, %emptied ]
  call preserve_mostcc void @relay_drop_block(ptr %context, ptr %current)
  %freed = load i64, ptr %context[$freed]
  %freed.more = add i64 %freed, 1
  store i64 %freed.more, ptr %context[$freed]
  br eq ptr %pending.large, null, label %done, label %next

a.tensor:
  %rank.narrow = load i32, ptr %current[$detail]
  %rank = zext i32 %rank.narrow to i64
  %header.class = call i64 @relay_header_class(i64 %rank)
  %owner = load i64, ptr %current[$tensor_owner]
  switch i64 %owner, label %a.view [
    i64 $inline, label %inside
    i64 $block, label %outside
    i64 $device_block, label %far
    i64 $external, label %give.tensor
  ]
inside:
  %bytes = load i64, ptr %current[$tensor_bytes]
  %bytes.beyond = add i64 %bytes, 63
  %bytes.class = lshr i64 %bytes.beyond, 6
  %whole.class = add i64 %header.class, %bytes.class
  br label %give.tensor
outside:
  %data = load ptr, ptr %current[$tensor_data]
  call preserve_mostcc void @relay_drop_block(ptr %context, ptr %data)
  br label %give.tensor
far:
  %far.class = call i64 @relay_free_device_tensor(ptr %context, ptr %current, i64 %rank)
  br label %give.tensor
a.view:
  %root = inttoptr i64 %owner to ptr
  %pending.view = call ptr @relay_let_go(ptr %root, ptr %waiting)
  br label %give.tensor
give.tensor:
  %pending.tensor = phi ptr [ %waiting, %a.tensor ], [ %waiting, %inside ],
                            [ %waiting, %outside ], [ %waiting, %far ],
                            [ %pending.view, %a.view ]
  %tensor.class = phi i64 [ %header.class, %a.tensor ], [ %whole.class, %inside ],
                          [ %header.class, %outside ], [ %far.class, %far ],
                          [ %header.class, %a.view ]
  call void @relay_give(ptr %context, ptr %current, i64 %tensor.class)
  br eq ptr %pending.tensor, null, label %done, label %next
done:
  ret void
}

; --- cells

; Remove a cell from the list. A removed cell is its own predecessor.
define internal preserve_mostcc void @relay_unlink_cell(ptr %context, ptr %cell)
    noinline nounwind {
entry:
  %next = load ptr, ptr %cell[$reference_next]
  %previous = load ptr, ptr %cell[$reference_previous]
  br eq ptr %previous, %cell, label %done, label %link
link:
  store ptr %cell, ptr %cell[$reference_previous]
  %head = icmp eq ptr %previous, null
  %list = getelementptr i8, ptr %context, i64 $references
  %before = getelementptr i8, ptr %previous, i64 $reference_next
  %link.at = select i1 %head, ptr %list, ptr %before
  store ptr %next, ptr %link.at
  br eq ptr %next, null, label %done, label %back
back:
  store ptr %previous, ptr %next[$reference_previous]
  br label %done
done:
  ret void
}

; Empty all cells, which frees cycles.
define internal void @relay_free_cells(ptr %context) nounwind {
entry:
  br label %next
next:
  %cell = load ptr, ptr %context[$references]
  br eq ptr %cell, null, label %done, label %empty
empty:
  call preserve_mostcc void @relay_unlink_cell(ptr %context, ptr %cell)
  call void @relay_retain_object(ptr %cell)
  %objects = load i32, ptr %cell[$objects]
  store i32 0, ptr %cell[$objects]
  %words = getelementptr i8, ptr %cell, i64 $reference_words
  br ne i32 %objects, 0, label %loop, label %let.go
loop:
  %i = phi i32 [ 0, %empty ], [ %i.next, %loop.end ]
  %word.at = getelementptr ptr, ptr %words, i32 %i
  %word = load ptr, ptr %word.at
  call void @relay_release(ptr %context, ptr %word)
  br label %loop.end
loop.end:
  %i.next = add i32 %i, 1
  br ult i32 %i.next, %objects, label %loop, label %let.go
let.go:
  call void @relay_release_object(ptr %context, ptr %cell)
  br label %next
done:
  ret void
}
"""
