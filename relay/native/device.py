"""Tensors in memory of a device, in LLVM IR.

    ptr  relay_new_device_tensor(ptr context, i64 rank, i64 bytes)
    i32  relay_read_device(ptr context, ptr to, ptr from, i64 bytes)

The elements of such a tensor lie in memory that the host cannot address; everything else of it,
and all other objects, lie in the heap. The field `DEVICE` of the context is the address of a record
that a target fills in, or null:

     0  allocate   ptr (ptr device, i64 bytes)                      null without memory
     8  free       void (ptr device, ptr memory)
    16  write      i32 (ptr device, ptr to, ptr from, i64 bytes)    `from` may change afterwards
    24  read       i32 (ptr device, ptr to, ptr from, i64 bytes)    waits for what writes `from`
    32  wait       i32 (ptr device)                                 until all is done that was begun

Everything on a device happens in the order in which it was begun, so that memory can be used again
as soon as its tensor is freed. Blocks have the size classes of `heap.py`. They are kept between
calls, and given back when there is no memory left, or when the context is closed.
"""

from __future__ import annotations

from typing import Final

from relay.native import free_lists, heap, layout
from relay.native.notation import assemble

# --- the record of a device

ALLOCATE: Final = 0
FREE: Final = 8
WRITE: Final = 16
READ: Final = 24
WAIT: Final = 32
BYTES: Final = 40  # of all blocks
BLOCKS: Final = 48  # the first of all blocks
LISTS: Final = 64  # free list of each class
DEVICE_SIZE: Final = LISTS + 8 * layout.BLOCK_CLASSES  # what follows is the target's

# --- the header of a block, in memory of the host

NEXT: Final = 0
MEMORY: Final = 8
CLASS: Final = 16
FREE_NEXT: Final = 24
SIZE: Final = 32
HEADER: Final = 40

FUNCTIONS: Final = ("relay_new_device_tensor", "relay_read_device")


def text() -> str:
    """All functions."""
    names = layout.numbers(
        allocate=ALLOCATE,
        free=FREE,
        write=WRITE,
        read=READ,
        wait=WAIT,
        all_bytes=BYTES,
        all_blocks=BLOCKS,
        lists=LISTS,
        lists_bytes=8 * layout.BLOCK_CLASSES,
        next=NEXT,
        memory=MEMORY,
        class_at=CLASS,
        free_next=FREE_NEXT,
        size_at=SIZE,
        header=HEADER,
        small=heap.SMALL,
        largest=heap.LARGEST,
    )
    return assemble(_DEVICE, names)


_DEVICE: Final = (
    """
; --- blocks

; Ask the device for memory; frees unused blocks and tries again before it fails."""
    + free_lists.within_limit(
        "@relay_device_memory(ptr %context, ptr %device, i64 %bytes)",
        taken="%device[$all_bytes]",
        ask="%allocate = load ptr, ptr %device[$allocate]\n"
        "  %memory = call ptr %allocate(ptr %device, i64 %bytes)",
        trim="call void @relay_device_trim(ptr %device)",
    )
    + """
; The header of a block of at least `bytes`, or null.
define internal ptr @relay_device_block(ptr %context, i64 %bytes) noinline nounwind {
entry:
  %device = load ptr, ptr %context[$device]
  br ugt i64 %bytes, $largest, label %fail, label %find
find:
  %wanted = call i64 @llvm.umax.i64(i64 %bytes, i64 $small)
  %class = call i64 @relay_block_class(i64 %wanted)"""
    + free_lists.take("lists", "%device", "[$free_next]", otherwise="make")
    + """
  ret ptr %first
make:
  %header = call ptr @malloc(i64 $header)
  br eq ptr %header, null, label %fail, label %ask
ask:
  %size = call i64 @relay_block_size(i64 %wanted)
  %memory = call ptr @relay_device_memory(ptr %context, ptr %device, i64 %size)
  br eq ptr %memory, null, label %drop, label %link
drop:
  call void @free(ptr %header)
  br label %fail
link:
  store ptr %memory, ptr %header[$memory]
  store i64 %class, ptr %header[$class_at]
  store i64 %size, ptr %header[$size_at]
  %after = load ptr, ptr %device[$all_blocks]
  store ptr %after, ptr %header
  store ptr %header, ptr %device[$all_blocks]
  ret ptr %header
fail:
  ret ptr null
}

define internal void @relay_drop_device_block(ptr %device, ptr %block) nounwind {
  %class = load i64, ptr %block[$class_at]"""
    + free_lists.put("%block", "lists", "%device", "[$free_next]")
    + """
  ret void
}

; Give back all blocks that are free: those that a walk over the free lists has marked.
define internal void @relay_device_trim(ptr %device) noinline cold nounwind {
entry:
  %lists = getelementptr i8, ptr %device, i64 $lists
  br label %class
class:
  %i = phi i64 [ 0, %entry ], [ %i.next, %emptied ]
  %list = getelementptr ptr, ptr %lists, i64 %i
  %first = load ptr, ptr %list
  store ptr null, ptr %list
  br label %look
look:
  %block = phi ptr [ %first, %class ], [ %free, %mark ]
  br eq ptr %block, null, label %emptied, label %mark
mark:
  %free = load ptr, ptr %block[$free_next]
  store i64 -1, ptr %block[$class_at]
  br label %look
emptied:
  %i.next = add i64 %i, 1
  br ult i64 %i.next, $block_classes, label %class, label %sweep
sweep:
  %all = getelementptr i8, ptr %device, i64 $all_blocks
  br label %each
each:
  %link = phi ptr [ %all, %sweep ], [ %current, %keep ], [ %link, %unlink ]
  %current = load ptr, ptr %link
  br eq ptr %current, null, label %done, label %test
test:
  %kind = load i64, ptr %current[$class_at]
  br eq i64 %kind, -1, label %unlink, label %keep
keep:
  br label %each
unlink:
  %next = load ptr, ptr %current
  store ptr %next, ptr %link
  %release = load ptr, ptr %device[$free]
  %memory = load ptr, ptr %current[$memory]
  call void %release(ptr %device, ptr %memory)
  %size = load i64, ptr %current[$size_at]
  %taken = load i64, ptr %device[$all_bytes]
  %rest = sub i64 %taken, %size
  store i64 %rest, ptr %device[$all_bytes]
  call void @free(ptr %current)
  br label %each
done:
  ret void
}

; Free the elements of all tensors.
define internal void @relay_device_reset(ptr %context) nounwind {
entry:
  %device = load ptr, ptr %context[$device]
  br eq ptr %device, null, label %done, label %empty
empty:
  %lists = getelementptr i8, ptr %device, i64 $lists
  call void @llvm.memset.p0.i64(ptr align 8 %lists, i8 0, i64 $lists_bytes, i1 false)
  br label %each
each:
  %link = phi ptr [ null, %empty ], [ %next, %drop ]
  %at.first = icmp eq ptr %link, null
  %first = load ptr, ptr %device[$all_blocks]
  %block = select i1 %at.first, ptr %first, ptr %link
  br eq ptr %block, null, label %done, label %drop
drop:
  %next = load ptr, ptr %block
  call void @relay_drop_device_block(ptr %device, ptr %block)
  br eq ptr %next, null, label %done, label %each
done:
  ret void
}

; Give all memory of the device back, when a context is closed.
define internal void @relay_close_device(ptr %context) nounwind {
entry:
  %device = load ptr, ptr %context[$device]
  br eq ptr %device, null, label %done, label %give
give:
  call void @relay_device_reset(ptr %context)
  call void @relay_device_trim(ptr %device)
  br label %done
done:
  ret void
}

; --- tensors

; A tensor in memory of the device; the header of its block follows its sizes.
define ptr @relay_new_device_tensor(ptr %context, i64 %rank, i64 %bytes) nounwind {
entry:
  %block = call ptr @relay_device_block(ptr %context, i64 %bytes)
  br eq ptr %block, null, label %fail, label %header
header:
  %places = add i64 %rank, 1
  %object = call ptr @relay_new_header(ptr %context, i64 %places)
  br eq ptr %object, null, label %give.back, label %fill
give.back:
  %device = load ptr, ptr %context[$device]
  call void @relay_drop_device_block(ptr %device, ptr %block)
  ret ptr null
fill:
  %about = shl i64 %rank, 32
  store i64 %about, ptr %object[$kind]
  %data = load ptr, ptr %block[$memory]
  store ptr %data, ptr %object[$tensor_data]
  store i64 $device_block, ptr %object[$tensor_owner]
  store i64 %bytes, ptr %object[$tensor_bytes]
  %dims = getelementptr i8, ptr %object, i64 $tensor_dims
  %place = getelementptr ptr, ptr %dims, i64 %rank
  store ptr %block, ptr %place
  ret ptr %object
fail:
  ret ptr null
}

; Free the block of a tensor: the class of its header.
define internal i64 @relay_free_device_tensor(ptr %context, ptr %tensor, i64 %rank) nounwind {
  %dims = getelementptr i8, ptr %tensor, i64 $tensor_dims
  %block = load ptr, ptr %dims[ptr %rank]
  %device = load ptr, ptr %context[$device]
  call void @relay_drop_device_block(ptr %device, ptr %block)
  %places = add i64 %rank, 1
  %class = call i64 @relay_header_class(i64 %places)
  ret i64 %class
}

; --- copies

define internal i32 @relay_write_device(ptr %context, ptr %to, ptr %from, i64 %bytes) nounwind {
  %device = load ptr, ptr %context[$device]
  %write = load ptr, ptr %device[$write]
  %status = call i32 %write(ptr %device, ptr %to, ptr %from, i64 %bytes)
  ret i32 %status
}

define i32 @relay_read_device(ptr %context, ptr %to, ptr %from, i64 %bytes) nounwind {
  %device = load ptr, ptr %context[$device]
  %read = load ptr, ptr %device[$read]
  %status = call i32 %read(ptr %device, ptr %to, ptr %from, i64 %bytes)
  ret i32 %status
}

define internal i32 @relay_wait_for_device(ptr %context) nounwind {
entry:
  %device = load ptr, ptr %context[$device]
  br eq ptr %device, null, label %done, label %ask
ask:
  %wait = load ptr, ptr %device[$wait]
  %status = call i32 %wait(ptr %device)
  ret i32 %status
done:
  ret i32 0
}
"""
)
