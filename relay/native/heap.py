"""The allocator of programs, in LLVM IR.

Small pieces, up to 4 kB, have sizes that are multiples of 64 bytes and a free list per size in the
context, so that allocating and freeing one is a few inlined instructions (`relay_obtain`,
`relay_give`). An empty free list is filled from a slab.

Larger pieces are blocks, of four size classes per power of two with a free list each; very large
ones are returned to the system at once. All blocks and all slabs are linked, so that `relay_reset`
frees everything after a failed call without visiting objects.

A heap belongs to one context, and a context to one call at a time: nothing here is atomic. Memory
is from `malloc`, so the owner of an exported block can `free` it in any thread.
"""

from __future__ import annotations

from typing import Final

from relay.native import free_lists, layout
from relay.native.notation import assemble

SMALL: Final = 64 * (layout.SMALL_CLASSES - 1)  # bytes; larger pieces are blocks
SLAB: Final = 1 << 16  # bytes of the first slab; each next one is twice as large, up to
LARGEST_SLAB: Final = 1 << 20
CARVED: Final = 4096  # bytes of a slab that are cut into pieces at a time
UNCACHED: Final = 1 << 25  # bytes; larger blocks are returned to the system at once
LARGEST: Final = 1 << 40
KEPT: Final = 1 << 26  # bytes that a heap keeps between calls


def block_class(size: int) -> int:
    """The class of blocks of `size` bytes."""
    last = max(size, SMALL) - 1
    power = last.bit_length() - 1
    return (power - 11) * 4 + (last >> (power - 2)) - 4


def fast_text() -> str:
    """The inlined functions; they call `relay_carve`."""
    return assemble(_FAST, layout.numbers())


def text() -> str:
    """The other functions."""
    names = layout.numbers(
        small=SMALL,
        half_slab=SLAB // 2,
        largest_slab=LARGEST_SLAB,
        carved=CARVED,
        uncached=block_class(UNCACHED),
        largest=LARGEST,
        kept=KEPT,
        lists_bytes=8 * (layout.SMALL_CLASSES + layout.BLOCK_CLASSES),
    )
    return assemble(_HEAP, names)


_FAST: Final = (
    """
; Allocate 64 * class bytes, or null; counts an object.
define internal ptr @relay_obtain(ptr %context, i64 %class) alwaysinline nounwind {
entry:"""
    + free_lists.take("small_lists", "%context", "", otherwise="more")
    + """
  br label %done
more:
  %carved = call ptr @relay_carve(ptr %context, i64 %class)
  br eq ptr %carved, null, label %fail, label %done
done:
  %piece = phi ptr [ %first, %take ], [ %carved, %more ]
  %made = load i64, ptr %context[$made]
  %made.more = add i64 %made, 1
  store i64 %made.more, ptr %context[$made]
  ret ptr %piece
fail:
  ret ptr null
}

define internal void @relay_give(ptr %context, ptr %piece, i64 %class) alwaysinline nounwind {"""
    + free_lists.put("%piece", "small_lists", "%context", "")
    + """
  %freed = load i64, ptr %context[$freed]
  %freed.more = add i64 %freed, 1
  store i64 %freed.more, ptr %context[$freed]
  ret void
}
"""
)

_HEAP: Final = (
    """
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; --- memory of the system

; Allocate, or null; frees cached blocks and tries again before it fails."""
    + free_lists.within_limit(
        "@relay_reserve(ptr %context, i64 %bytes)",
        taken="%context[$heap_bytes]",
        ask="%memory = call ptr @malloc(i64 %bytes)",
        trim="call void @relay_trim(ptr %context)",
    )
    + """
define internal void @relay_return(ptr %context, ptr %chunk) noinline cold nounwind {
  %bytes = load i64, ptr %chunk[$chunk_bytes]
  %taken = load i64, ptr %context[$heap_bytes]
  %rest = sub i64 %taken, %bytes
  store i64 %rest, ptr %context[$heap_bytes]
  %base = load ptr, ptr %chunk[$chunk_base]
  call void @free(ptr %base)
  ret void
}

; A header with `bytes` behind it, aligned, or null.
define internal ptr @relay_chunk(ptr %context, i64 %bytes) noinline cold nounwind {
entry:
  %total = add i64 %bytes, 128
  %base = call ptr @relay_reserve(ptr %context, i64 %total)
  br eq ptr %base, null, label %fail, label %fill
fill:
  %address = ptrtoint ptr %base to i64
  %beyond = add i64 %address, 63
  %aligned = and i64 %beyond, -64
  %chunk = inttoptr i64 %aligned to ptr
  store ptr null, ptr %chunk[$chunk_next]
  store ptr null, ptr %chunk[$chunk_previous]
  store ptr %base, ptr %chunk[$chunk_base]
  store i64 %total, ptr %chunk[$chunk_bytes]
  ret ptr %chunk
fail:
  ret ptr null
}

; --- slabs

; Make the next slab current; false when there is no memory.
define internal i1 @relay_slab(ptr %context) noinline cold nounwind {
entry:
  %current = load ptr, ptr %context[$slab]
  %first = icmp eq ptr %current, null
  br i1 %first, label %make, label %look
look:
  %following = load ptr, ptr %current
  %before.total = load i64, ptr %current[$chunk_bytes]
  %before = sub i64 %before.total, 128
  br eq ptr %following, null, label %make, label %use
make:
  %size.before = phi i64 [ $half_slab, %entry ], [ %before, %look ]
  %twice = shl i64 %size.before, 1
  %size = call i64 @llvm.umin.i64(i64 %twice, i64 $largest_slab)
  %made = call ptr @relay_chunk(ptr %context, i64 %size)
  br eq ptr %made, null, label %fail, label %link
link:
  %slabs = getelementptr i8, ptr %context, i64 $slabs
  %link.at = select i1 %first, ptr %slabs, ptr %current
  store ptr %made, ptr %link.at
  br label %use
use:
  %slab = phi ptr [ %following, %look ], [ %made, %link ]
  call void @relay_begin_slab(ptr %context, ptr %slab)
  ret i1 true
fail:
  ret i1 false
}

define internal void @relay_begin_slab(ptr %context, ptr %slab) nounwind {
  store ptr %slab, ptr %context[$slab]
  %begin = getelementptr i8, ptr %slab, i64 $chunk_header
  store ptr %begin, ptr %context[$carve]
  %bytes = load i64, ptr %slab[$chunk_bytes]
  %size = sub i64 %bytes, 128
  %end = getelementptr i8, ptr %begin, i64 %size
  store ptr %end, ptr %context[$carve_end]
  ret void
}

; Allocate a piece of this class, or null; fills the free list of the class.
define ptr @relay_carve(ptr %context, i64 %class) noinline cold nounwind {
entry:
  %size = shl i64 %class, 6
  %most = udiv i64 $carved, %size
  br label %look
look:
  %begin = load ptr, ptr %context[$carve]
  %begin.number = ptrtoint ptr %begin to i64
  %end.number = load i64, ptr %context[$carve_end]
  %left = sub i64 %end.number, %begin.number
  %fit = udiv i64 %left, %size
  %count = call i64 @llvm.umin.i64(i64 %fit, i64 %most)
  br eq i64 %count, 0, label %slab, label %cut
slab:
  %more = call i1 @relay_slab(ptr %context)
  br i1 %more, label %look, label %fail
cut:
  %bytes = mul i64 %count, %size
  %rest = getelementptr i8, ptr %begin, i64 %bytes
  store ptr %rest, ptr %context[$carve]
  %lists = getelementptr i8, ptr %context, i64 $small_lists
  br label %loop
loop:                                    ; from the last piece, so that the list ascends
  %i = phi i64 [ %count, %cut ], [ %i.less, %put ]
  %next = phi ptr [ null, %cut ], [ %piece, %put ]
  %i.less = sub i64 %i, 1
  %offset = mul i64 %i.less, %size
  %piece = getelementptr i8, ptr %begin, i64 %offset
  br eq i64 %i.less, 0, label %done, label %put
put:
  store ptr %next, ptr %piece
  br label %loop
done:
  store ptr %next, ptr %lists[ptr %class]
  ret ptr %begin
fail:
  ret ptr null
}

; --- blocks

; The last quarter of a power of two that `bytes` need.
define internal i64 @relay_block_shift(i64 %bytes) alwaysinline nounwind {
  %last = sub i64 %bytes, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %last, i1 true)
  %shift = sub i64 61, %zeros
  ret i64 %shift
}

define internal i64 @relay_block_class(i64 %bytes) alwaysinline nounwind {
  %last = sub i64 %bytes, 1
  %shift = call i64 @relay_block_shift(i64 %bytes)
  %quarter = lshr i64 %last, %shift
  %row = sub i64 %shift, 10              ; rows of four, the first quarter of which is number 4
  %row.first = shl i64 %row, 2
  %class = add i64 %row.first, %quarter
  ret i64 %class
}

define internal i64 @relay_block_size(i64 %bytes) alwaysinline nounwind {
  %last = sub i64 %bytes, 1
  %shift = call i64 @relay_block_shift(i64 %bytes)
  %quarter = lshr i64 %last, %shift
  %quarter.next = add i64 %quarter, 1
  %size = shl i64 %quarter.next, %shift
  ret i64 %size
}

; Allocate a block of at least `bytes`, or null.
define ptr @relay_new_block(ptr %context, i64 %bytes) noinline nounwind {
entry:
  br ugt i64 %bytes, $largest, label %fail, label %find
find:
  %wanted = call i64 @llvm.umax.i64(i64 %bytes, i64 $small)
  %class = call i64 @relay_block_class(i64 %wanted)
  %size = call i64 @relay_block_size(i64 %wanted)"""
    + free_lists.take("block_lists", "%context", "[$chunk_free]", otherwise="make")
    + """
  br label %done
make:
  %made = call ptr @relay_chunk(ptr %context, i64 %size)
  br eq ptr %made, null, label %fail, label %link
link:
  store i64 %class, ptr %made[$chunk_class]
  %after = load ptr, ptr %context[$blocks]
  store ptr %after, ptr %made
  store ptr %made, ptr %context[$blocks]
  br eq ptr %after, null, label %done, label %link.back
link.back:
  store ptr %made, ptr %after[$chunk_previous]
  br label %done
done:
  %chunk = phi ptr [ %first, %take ], [ %made, %link ], [ %made, %link.back ]
  %memory = getelementptr i8, ptr %chunk, i64 $chunk_header
  ret ptr %memory
fail:
  ret ptr null
}

; Preserves registers: most calls of `relay_free` do not get here.
define internal preserve_mostcc void @relay_drop_block(ptr %context, ptr %memory)
    noinline nounwind {
  call void @relay_drop_chunk(ptr %context, ptr %memory[-$chunk_header])
  ret void
}

define internal void @relay_drop_chunk(ptr %context, ptr %chunk) nounwind {
entry:
  %class = load i64, ptr %chunk[$chunk_class]
  br uge i64 %class, $uncached, label %system, label %keep
keep:"""
    + free_lists.put("%chunk", "block_lists", "%context", "[$chunk_free]")
    + """
  ret void
system:
  call void @relay_unlink_block(ptr %context, ptr %chunk)
  call void @relay_return(ptr %context, ptr %chunk)
  ret void
}

define internal void @relay_unlink_block(ptr %context, ptr %chunk) nounwind {
entry:
  %next = load ptr, ptr %chunk
  %previous = load ptr, ptr %chunk[$chunk_previous]
  %head = icmp eq ptr %previous, null
  %blocks = getelementptr i8, ptr %context, i64 $blocks
  %link.at = select i1 %head, ptr %blocks, ptr %previous
  store ptr %next, ptr %link.at
  br eq ptr %next, null, label %done, label %back
back:
  store ptr %previous, ptr %next[$chunk_previous]
  br label %done
done:
  ret void
}

; Remove a block from the heap; the caller owns it, and passes the result to `free`.
define internal ptr @relay_take_block(ptr %context, ptr %memory) nounwind {
  %chunk = getelementptr i8, ptr %memory, i64 -$chunk_header
  call void @relay_unlink_block(ptr %context, ptr %chunk)
  %bytes = load i64, ptr %chunk[$chunk_bytes]
  %taken = load i64, ptr %context[$heap_bytes]
  %rest = sub i64 %taken, %bytes
  store i64 %rest, ptr %context[$heap_bytes]
  %base = load ptr, ptr %chunk[$chunk_base]
  ret ptr %base
}

define void @relay_free_block(ptr %base) nounwind {
  call void @free(ptr %base)
  ret void
}

; --- the whole heap

; Return free blocks to the system.
define internal void @relay_trim(ptr %context) noinline cold nounwind {
entry:
  %lists = getelementptr i8, ptr %context, i64 $block_lists
  br label %class
class:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %list = getelementptr ptr, ptr %lists, i64 %i
  br label %look
look:
  %chunk = load ptr, ptr %list
  br eq ptr %chunk, null, label %next, label %drop
drop:
  %free = load ptr, ptr %chunk[$chunk_free]
  store ptr %free, ptr %list
  call void @relay_unlink_block(ptr %context, ptr %chunk)
  call void @relay_return(ptr %context, ptr %chunk)
  br label %look
next:
  %i.next = add i64 %i, 1
  br ult i64 %i.next, $block_classes, label %class, label %done
done:
  ret void
}

; Free all objects.
define void @relay_reset(ptr %context) noinline cold nounwind {
entry:
  store i64 0, ptr %context[$made]
  store i64 0, ptr %context[$freed]
  store ptr null, ptr %context[$references]
  call void @relay_device_reset(ptr %context)
  %lists = getelementptr i8, ptr %context, i64 $small_lists
  call void @llvm.memset.p0.i64(ptr align 8 %lists, i8 0, i64 $lists_bytes, i1 false)
  %first = load ptr, ptr %context[$blocks]
  br label %block
block:
  %chunk = phi ptr [ %first, %entry ], [ %next, %drop ]
  br eq ptr %chunk, null, label %slabs, label %drop
drop:
  %next = load ptr, ptr %chunk
  call void @relay_drop_chunk(ptr %context, ptr %chunk)
  br label %block
slabs:
  %slab = load ptr, ptr %context[$slabs]
  br eq ptr %slab, null, label %done, label %begin
begin:
  call void @relay_begin_slab(ptr %context, ptr %slab)
  ret void
done:
  ret void
}

; Without live objects: return memory beyond `KEPT` to the system.
define internal void @relay_shrink(ptr %context) nounwind {
entry:
  %taken = load i64, ptr %context[$heap_bytes]
  br ugt i64 %taken, $kept, label %shrink, label %done
shrink:
  call void @relay_trim(ptr %context)
  call void @relay_drop_slabs(ptr %context)
  call void @relay_reset(ptr %context)
  ret void
done:
  ret void
}

; Return all slabs but the first to the system.
define internal void @relay_drop_slabs(ptr %context) noinline cold nounwind {
entry:
  %first = load ptr, ptr %context[$slabs]
  br eq ptr %first, null, label %done, label %rest
rest:
  %second = load ptr, ptr %first
  store ptr null, ptr %first
  br label %look
look:
  %slab = phi ptr [ %second, %rest ], [ %next, %drop ]
  br eq ptr %slab, null, label %done, label %drop
drop:
  %next = load ptr, ptr %slab
  call void @relay_return(ptr %context, ptr %slab)
  br label %look
done:
  ret void
}

; Return all memory to the system.
define internal void @relay_close_heap(ptr %context) noinline cold nounwind {
entry:
  call void @relay_reset(ptr %context)
  call void @relay_trim(ptr %context)
  call void @relay_drop_slabs(ptr %context)
  %first = load ptr, ptr %context[$slabs]
  br eq ptr %first, null, label %done, label %drop
drop:
  call void @relay_return(ptr %context, ptr %first)
  store ptr null, ptr %context[$slabs]
  store ptr null, ptr %context[$slab]
  store ptr null, ptr %context[$carve]
  store ptr null, ptr %context[$carve_end]
  br label %done
done:
  ret void
}
"""
)
