"""The objects of native programs, as LLVM IR: made, held, freed. `layout.py` says what they are.

    ptr  relay_new_tensor(ptr context, i64 rank, i64 bytes)
    ptr  relay_new_object(ptr context, i32 kind, i32 detail, i32 objects, i32 words)
    ptr  relay_new_view(ptr context, ptr tensor, i64 rank)
    void relay_retain(ptr word)          void relay_release(ptr context, ptr word)
    void relay_retain_object(ptr object) void relay_release_object(ptr context, ptr object)
    void relay_free(ptr context, ptr object)
    i32  relay_tick(ptr context)         ptr relay_frame(ptr context, i64 bytes)

What is new is held once, by whoever made it, and is null when there is no memory. Dims and words
are not filled in. The elements of a tensor lie at `data`, aligned to 64 bytes. A view has the
elements, and the number of bytes, of the tensor it is made of; it holds the tensor that has them,
never another view.

An object word may be a number, a constant or an object; `_object` are for words that are known not
to be numbers. What nobody holds any longer is freed with all that only it held, without recursion:
objects that wait to be freed are linked through their counts. Who knows
the size of an object and has taken its words over gives its memory back itself (`relay_give`).

`inline_text` is for the module that uses all this: LLVM puts the short functions where they are
called, and with numbers known, most of their instructions go away. It also declares the other
functions of the runtime. `text` is their home, and exports the short ones as well.
"""

from __future__ import annotations

from string import Template
from typing import Final

from relay.native import heap, layout

# To a program these are known by name; whoever loads it gives their addresses.
PROGRAM_IMPORTS: Final = (
    "relay_carve",
    "relay_new_large",
    "relay_new_large_tensor",
    "relay_new_view",
    "relay_free",
    "relay_poll",
    "relay_frame_more",
)


def inline_text() -> str:
    """Definitions and declarations to put into the text of a program."""
    return _DECLARATIONS + heap.fast_text() + _fast("internal ")


def text() -> str:
    """The objects themselves."""
    return heap.fast_text() + _fast("") + _OBJECTS.substitute(layout.numbers())


def _fast(linkage: str) -> str:
    classes = layout.SMALL_CLASSES
    return _FAST.substitute(layout.numbers(), linkage=linkage, classes=classes, small=heap.SMALL)


_DECLARATIONS: Final = """
declare ptr @relay_carve(ptr, i64) cold nounwind
declare ptr @relay_new_large(ptr, i64) cold nounwind
declare ptr @relay_new_large_tensor(ptr, i64, i64) nounwind
declare ptr @relay_new_view(ptr, ptr, i64) nounwind
declare void @relay_free(ptr, ptr) nounwind
declare i32 @relay_poll(ptr) cold nounwind
declare ptr @relay_frame_more(ptr, i64) cold nounwind
"""

_FAST: Final = Template("""
; --- made

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
  %fits = icmp ult i64 %class, $classes
  %small = and i1 %few, %fits
  br i1 %small, label %inside, label %outside
outside:
  %large = call ptr @relay_new_large_tensor(ptr %context, i64 %rank, i64 %bytes)
  ret ptr %large
inside:
  %object = call ptr @relay_obtain(ptr %context, i64 %class)
  %none = icmp eq ptr %object, null
  br i1 %none, label %fail, label %fill
fill:
  store i64 1, ptr %object
  %about.at = getelementptr i8, ptr %object, i64 $kind
  %about = shl i64 %rank, 32
  store i64 %about, ptr %about.at
  %data = getelementptr i8, ptr %object, i64 %header
  %data.at = getelementptr i8, ptr %object, i64 $tensor_data
  store ptr %data, ptr %data.at
  %owner.at = getelementptr i8, ptr %object, i64 $tensor_owner
  store i64 $inline, ptr %owner.at
  %bytes.at = getelementptr i8, ptr %object, i64 $tensor_bytes
  store i64 %bytes, ptr %bytes.at
  ret ptr %object
fail:
  ret ptr null
}

define ${linkage}ptr @relay_new_object(ptr %context, i32 %kind, i32 %detail, i32 %objects,
                                       i32 %words) alwaysinline nounwind {
entry:
  ; data have 24 bytes before their words, closures 32, cells 40: 16 and 8 times the kind
  %kind.wide = zext i32 %kind to i64
  %words.wide = zext i32 %words to i64
  %places = add i64 %kind.wide, %words.wide
  %places.bytes = shl i64 %places, 3
  %bytes = add i64 %places.bytes, 16
  %beyond = add i64 %bytes, 63
  %class = lshr i64 %beyond, 6
  %small = icmp ult i64 %class, $classes
  br i1 %small, label %usual, label %outside
outside:
  %large = call ptr @relay_new_large(ptr %context, i64 %bytes)
  br label %made
usual:
  %piece = call ptr @relay_obtain(ptr %context, i64 %class)
  br label %made
made:
  %object = phi ptr [ %piece, %usual ], [ %large, %outside ]
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %fill
fill:
  store i64 1, ptr %object
  %kind.at = getelementptr i8, ptr %object, i64 $kind
  store i32 %kind, ptr %kind.at
  %detail.at = getelementptr i8, ptr %object, i64 $detail
  store i32 %detail, ptr %detail.at
  %objects.at = getelementptr i8, ptr %object, i64 $objects
  store i32 %objects, ptr %objects.at
  %words.at = getelementptr i8, ptr %object, i64 $words
  store i32 %words, ptr %words.at
  %cell = icmp eq i32 %kind, $reference
  br i1 %cell, label %link, label %done
link:
  %list = getelementptr i8, ptr %context, i64 $references
  %after = load ptr, ptr %list
  %next.at = getelementptr i8, ptr %object, i64 $reference_next
  store ptr %after, ptr %next.at
  %previous.at = getelementptr i8, ptr %object, i64 $reference_previous
  store ptr null, ptr %previous.at
  store ptr %object, ptr %list
  %alone = icmp eq ptr %after, null
  br i1 %alone, label %done, label %link.back
link.back:
  %back.at = getelementptr i8, ptr %after, i64 $reference_previous
  store ptr %object, ptr %back.at
  br label %done
done:
  ret ptr %object
}

; --- held

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
  %immortal = icmp slt i64 %count, 0
  br i1 %immortal, label %done, label %hold
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
  %shared = icmp sgt i64 %count, 1
  br i1 %shared, label %let.go, label %last
let.go:
  %less = sub i64 %count, 1
  store i64 %less, ptr %object
  br label %done
last:
  %ours = icmp eq i64 %count, 1
  br i1 %ours, label %free, label %done
free:
  call void @relay_free(ptr %context, ptr %object)
  br label %done
done:
  ret void
}

; --- time and frames

; A call or a turn of a loop; not 0 when the run must end.
define ${linkage}i32 @relay_tick(ptr %context) alwaysinline nounwind {
entry:
  %countdown.at = getelementptr i8, ptr %context, i64 $countdown
  %countdown = load i64, ptr %countdown.at
  %less = sub i64 %countdown, 1
  store i64 %less, ptr %countdown.at
  %due = icmp sle i64 %less, 0
  br i1 %due, label %poll, label %go.on
poll:
  %status = call i32 @relay_poll(ptr %context)
  ret i32 %status
go.on:
  ret i32 0
}

; Memory that ends when the frame is set back, aligned; null when there is none.
define ${linkage}ptr @relay_frame(ptr %context, i64 %bytes) alwaysinline nounwind {
entry:
  %frame.at = getelementptr i8, ptr %context, i64 $frame
  %frame = load ptr, ptr %frame.at
  %end.at = getelementptr i8, ptr %context, i64 $frame_end
  %end = load i64, ptr %end.at
  %begin = ptrtoint ptr %frame to i64
  %left = sub i64 %end, %begin           ; a multiple of 64
  %fits = icmp ule i64 %bytes, %left
  br i1 %fits, label %take, label %more
take:
  %beyond = add i64 %bytes, 63
  %rounded = and i64 %beyond, -64
  %after = getelementptr i8, ptr %frame, i64 %rounded
  store ptr %after, ptr %frame.at
  ret ptr %frame
more:
  %given = call ptr @relay_frame_more(ptr %context, i64 %bytes)
  ret ptr %given
}
""")

_OBJECTS: Final = Template("""
; --- made, the rare ways

; An object too large for a slab.
define ptr @relay_new_large(ptr %context, i64 %bytes) noinline cold nounwind {
entry:
  %object = call ptr @relay_new_block(ptr %context, i64 %bytes)
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %count
count:
  %made.at = getelementptr i8, ptr %context, i64 $made
  %made = load i64, ptr %made.at
  %more = add i64 %made, 1
  store i64 %more, ptr %made.at
  br label %done
done:
  ret ptr %object
}

define internal ptr @relay_new_header(ptr %context, i64 %rank) alwaysinline nounwind {
entry:
  %class = call i64 @relay_header_class(i64 %rank)
  %object = call ptr @relay_obtain(ptr %context, i64 %class)
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %fill
fill:
  store i64 1, ptr %object
  %about.at = getelementptr i8, ptr %object, i64 $kind
  %about = shl i64 %rank, 32
  store i64 %about, ptr %about.at
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

; A tensor whose elements lie in a block.
define ptr @relay_new_large_tensor(ptr %context, i64 %rank, i64 %bytes) noinline nounwind {
entry:
  %data = call ptr @relay_new_block(ptr %context, i64 %bytes)
  %no.data = icmp eq ptr %data, null
  br i1 %no.data, label %fail, label %header
header:
  %object = call ptr @relay_new_header(ptr %context, i64 %rank)
  %no.header = icmp eq ptr %object, null
  br i1 %no.header, label %give.back, label %fill
give.back:
  call preserve_mostcc void @relay_drop_block(ptr %context, ptr %data)
  ret ptr null
fill:
  %data.at = getelementptr i8, ptr %object, i64 $tensor_data
  store ptr %data, ptr %data.at
  %owner.at = getelementptr i8, ptr %object, i64 $tensor_owner
  store i64 $block, ptr %owner.at
  %bytes.at = getelementptr i8, ptr %object, i64 $tensor_bytes
  store i64 %bytes, ptr %bytes.at
  ret ptr %object
fail:
  ret ptr null
}

define ptr @relay_new_view(ptr %context, ptr %tensor, i64 %rank) nounwind {
entry:
  %object = call ptr @relay_new_header(ptr %context, i64 %rank)
  %none = icmp eq ptr %object, null
  br i1 %none, label %fail, label %fill
fill:
  %from = getelementptr i8, ptr %tensor, i64 $tensor_data
  %data = load ptr, ptr %from
  %data.at = getelementptr i8, ptr %object, i64 $tensor_data
  store ptr %data, ptr %data.at
  %bytes.from = getelementptr i8, ptr %tensor, i64 $tensor_bytes
  %bytes = load i64, ptr %bytes.from
  %bytes.at = getelementptr i8, ptr %object, i64 $tensor_bytes
  store i64 %bytes, ptr %bytes.at
  %owner.from = getelementptr i8, ptr %tensor, i64 $tensor_owner
  %owner = load ptr, ptr %owner.from
  %owner.number = ptrtoint ptr %owner to i64
  %viewed = icmp ugt i64 %owner.number, $external
  %root = select i1 %viewed, ptr %owner, ptr %tensor
  %owner.at = getelementptr i8, ptr %object, i64 $tensor_owner
  store ptr %root, ptr %owner.at
  call void @relay_retain_object(ptr %root)
  ret ptr %object
fail:
  ret ptr null
}

; --- freed

; One less holds a word; what nobody holds is put before `pending`, through its count.
define internal ptr @relay_let_go(ptr %word, ptr %pending) alwaysinline nounwind {
entry:
  %number = ptrtoint ptr %word to i64
  %odd = trunc i64 %number to i1
  br i1 %odd, label %done, label %object
object:
  %count = load i64, ptr %word
  %shared = icmp ne i64 %count, 1
  br i1 %shared, label %held, label %last
held:
  %immortal = icmp slt i64 %count, 0
  br i1 %immortal, label %done, label %less
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
  %kind.at = getelementptr i8, ptr %current, i64 $kind
  %kind.mark = load i32, ptr %kind.at
  %kind = and i32 %kind.mark, 15         ; an export marks what it has seen
  %tensor = icmp eq i32 %kind, $tensor
  br i1 %tensor, label %a.tensor, label %words

words:
  %objects.at = getelementptr i8, ptr %current, i64 $objects
  %objects = load i32, ptr %objects.at
  %words.at = getelementptr i8, ptr %current, i64 $words
  %words.count = load i32, ptr %words.at
  %kind.wide = zext i32 %kind to i64
  %words.wide = zext i32 %words.count to i64
  %first.place = shl i64 %kind.wide, 3
  %first.offset = add i64 %first.place, 16
  %first = getelementptr i8, ptr %current, i64 %first.offset
  %cell = icmp eq i32 %kind, $reference
  br i1 %cell, label %unlink, label %begin
unlink:
  call preserve_mostcc void @relay_unlink_cell(ptr %context, ptr %current)
  br label %begin
begin:
  %objects.wide = zext i32 %objects to i64
  %none = icmp eq i32 %objects, 0
  br i1 %none, label %emptied, label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop.end ]
  %pending = phi ptr [ %waiting, %begin ], [ %pending.next, %loop.end ]
  %word.at = getelementptr ptr, ptr %first, i64 %i
  %word = load ptr, ptr %word.at
  %pending.next = call ptr @relay_let_go(ptr %word, ptr %pending)
  br label %loop.end
loop.end:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %objects.wide
  br i1 %more, label %loop, label %emptied
emptied:
  %pending.data = phi ptr [ %waiting, %begin ], [ %pending.next, %loop.end ]
  %places = add i64 %kind.wide, %words.wide
  %places.bytes = shl i64 %places, 3
  %beyond = add i64 %places.bytes, 79
  %class = lshr i64 %beyond, 6
  %small = icmp ult i64 %class, $small_classes
  br i1 %small, label %give.data, label %give.large
give.data:
  call void @relay_give(ptr %context, ptr %current, i64 %class)
  %end.data = icmp eq ptr %pending.data, null
  br i1 %end.data, label %done, label %next
give.large:
  %pending.large = phi ptr [ %pending.data, %emptied ]
  call preserve_mostcc void @relay_drop_block(ptr %context, ptr %current)
  %freed.at = getelementptr i8, ptr %context, i64 $freed
  %freed = load i64, ptr %freed.at
  %freed.more = add i64 %freed, 1
  store i64 %freed.more, ptr %freed.at
  %end.large = icmp eq ptr %pending.large, null
  br i1 %end.large, label %done, label %next

a.tensor:
  %rank.at = getelementptr i8, ptr %current, i64 $detail
  %rank.narrow = load i32, ptr %rank.at
  %rank = zext i32 %rank.narrow to i64
  %header.class = call i64 @relay_header_class(i64 %rank)
  %owner.at = getelementptr i8, ptr %current, i64 $tensor_owner
  %owner = load i64, ptr %owner.at
  switch i64 %owner, label %a.view [
    i64 $inline, label %inside
    i64 $block, label %outside
    i64 $external, label %give.tensor
  ]
inside:
  %bytes.at = getelementptr i8, ptr %current, i64 $tensor_bytes
  %bytes = load i64, ptr %bytes.at
  %bytes.beyond = add i64 %bytes, 63
  %bytes.class = lshr i64 %bytes.beyond, 6
  %whole.class = add i64 %header.class, %bytes.class
  br label %give.tensor
outside:
  %data.at = getelementptr i8, ptr %current, i64 $tensor_data
  %data = load ptr, ptr %data.at
  call preserve_mostcc void @relay_drop_block(ptr %context, ptr %data)
  br label %give.tensor
a.view:
  %root = inttoptr i64 %owner to ptr
  %pending.view = call ptr @relay_let_go(ptr %root, ptr %waiting)
  br label %give.tensor
give.tensor:
  %pending.tensor = phi ptr [ %waiting, %a.tensor ], [ %waiting, %inside ],
                            [ %waiting, %outside ], [ %pending.view, %a.view ]
  %tensor.class = phi i64 [ %header.class, %a.tensor ], [ %whole.class, %inside ],
                          [ %header.class, %outside ], [ %header.class, %a.view ]
  call void @relay_give(ptr %context, ptr %current, i64 %tensor.class)
  %end.tensor = icmp eq ptr %pending.tensor, null
  br i1 %end.tensor, label %done, label %next
done:
  ret void
}

; --- cells

; Take a cell out of the list. One that is out already is its own predecessor.
define internal preserve_mostcc void @relay_unlink_cell(ptr %context, ptr %cell)
    noinline nounwind {
entry:
  %next.at = getelementptr i8, ptr %cell, i64 $reference_next
  %next = load ptr, ptr %next.at
  %previous.at = getelementptr i8, ptr %cell, i64 $reference_previous
  %previous = load ptr, ptr %previous.at
  %out = icmp eq ptr %previous, %cell
  br i1 %out, label %done, label %link
link:
  store ptr %cell, ptr %previous.at
  %head = icmp eq ptr %previous, null
  %list = getelementptr i8, ptr %context, i64 $references
  %before = getelementptr i8, ptr %previous, i64 $reference_next
  %link.at = select i1 %head, ptr %list, ptr %before
  store ptr %next, ptr %link.at
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %back
back:
  %back.at = getelementptr i8, ptr %next, i64 $reference_previous
  store ptr %previous, ptr %back.at
  br label %done
done:
  ret void
}

; Empty all cells, so that those that hold one another go, and what they hold.
define internal void @relay_free_cells(ptr %context) nounwind {
entry:
  %list = getelementptr i8, ptr %context, i64 $references
  br label %next
next:
  %cell = load ptr, ptr %list
  %none = icmp eq ptr %cell, null
  br i1 %none, label %done, label %empty
empty:
  call preserve_mostcc void @relay_unlink_cell(ptr %context, ptr %cell)
  call void @relay_retain_object(ptr %cell)
  %objects.at = getelementptr i8, ptr %cell, i64 $objects
  %objects = load i32, ptr %objects.at
  store i32 0, ptr %objects.at
  %words = getelementptr i8, ptr %cell, i64 $reference_words
  %any = icmp ne i32 %objects, 0
  br i1 %any, label %loop, label %let.go
loop:
  %i = phi i32 [ 0, %empty ], [ %i.next, %loop.end ]
  %word.at = getelementptr ptr, ptr %words, i32 %i
  %word = load ptr, ptr %word.at
  call void @relay_release(ptr %context, ptr %word)
  br label %loop.end
loop.end:
  %i.next = add i32 %i, 1
  %more = icmp ult i32 %i.next, %objects
  br i1 %more, label %loop, label %let.go
let.go:
  call void @relay_release_object(ptr %context, ptr %cell)
  br label %next
done:
  ret void
}
""")
