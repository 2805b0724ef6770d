"""Memory layout of native programs: objects, and the context of a call, as offsets in bytes.

An object word is the address of an object, or an odd number: `tag * 2 + 1` is a constructor without
fields. Every object begins with

     0  i64  count      references to it; negative for objects that are never freed (constants)
     8  i32  kind
    12  i32  detail     rank of a tensor, tag of data
    16  ...

A tensor (address a multiple of 64) is dense and row-major; its element type is known to the code:

    16  ptr  data
    24  i64  owner      INLINE: the elements lie in the object; BLOCK: in a block of the heap;
                        DEVICE_BLOCK: in one of a device (`device.py`); EXTERNAL: memory that
                        outlives the call; otherwise the address of the object that owns the
                        memory, to which this one has a reference
    32  i64  bytes      of the elements
    40  i64  dims[rank]
        elements of an INLINE tensor begin at the next multiple of 64

Data, closures and cells hold words, object words first, so that these can be released without
knowing the type:

    16  i32  objects    number of object words
    20  i32  words      number of words
    24  i64  words[]    in a closure the code is at 24, and `words` follow at 32

Cells can form cycles, which reference counting never frees: the cells of a call are in a doubly
linked list (two words before their contents), and those left at the end of the call are freed.
"""

from __future__ import annotations

from typing import Final

from relay.target.llvm import abi

# --- objects

COUNT: Final = 0
KIND: Final = 8
DETAIL: Final = 12

TENSOR: Final = 0
DATA: Final = 1
CLOSURE: Final = 2
REFERENCE: Final = 3

TENSOR_DATA: Final = 16
TENSOR_OWNER: Final = 24
TENSOR_BYTES: Final = 32
TENSOR_DIMS: Final = 40
TENSOR_ALIGNMENT: Final = 64

INLINE: Final = 0
BLOCK: Final = 1
DEVICE_BLOCK: Final = 2
EXTERNAL: Final = 3  # the largest

OBJECTS: Final = 16
WORDS: Final = 20
DATA_WORDS: Final = 24
CLOSURE_CODE: Final = 24
CLOSURE_WORDS: Final = 32
REFERENCE_NEXT: Final = 24
REFERENCE_PREVIOUS: Final = 32
REFERENCE_WORDS: Final = 40

IMMORTAL: Final = -(1 << 62)

# --- the context: that of kernels (`relay.target.llvm.abi`), followed by the fields of programs

STACK_LIMIT: Final = abi.CONTEXT_SIZE  # functions fail if their stack is below this address
FRAME: Final = STACK_LIMIT + 8  # the free end of the memory for local tensors and workspaces
FRAME_END: Final = FRAME + 8
COUNTDOWN: Final = FRAME_END + 8  # calls and loop iterations until `relay_poll` is called
SITE: Final = COUNTDOWN + 8  # of a failure: an index into the program's table of sites
CONSTANTS: Final = SITE + 8  # address of an array of the tensor objects of constants
MADE: Final = CONSTANTS + 8  # number of objects allocated
REFERENCES: Final = MADE + 8  # the first cell of the list
HEAP_BYTES: Final = REFERENCES + 8  # bytes that the heap has from the system
LIMIT: Final = HEAP_BYTES + 8  # of HEAP_BYTES; 0: none

# --- the context: private to the runtime

FREED: Final = LIMIT + 8  # number of objects freed
STACK: Final = FREED + 8  # start of the stack of programs; null before the first call
STACK_SIZE: Final = STACK + 8  # set before the first call
STACK_TOP: Final = STACK_SIZE + 8
STACK_LOWEST: Final = STACK_TOP + 8  # the lowest stack address `relay_poll` has seen
CALLER_STACK: Final = STACK_LOWEST + 8  # stack pointer of the caller
FRAMES: Final = CALLER_STACK + 8  # start of the memory of frames
FRAMES_SIZE: Final = FRAMES + 8  # set before the first call
CALLBACK: Final = FRAMES_SIZE + 8  # i32 (ptr, ptr, ptr), or null; nonzero ends the call
CALLED_BACK: Final = CALLBACK + 8  # time in nanoseconds
POLLED: Final = CALLED_BACK + 8  # the same
STRIDE: Final = POLLED + 8  # the start of the countdown
SLABS: Final = STRIDE + 8  # the first slab
SLAB: Final = SLABS + 8  # the current one
CARVE: Final = SLAB + 8  # its unused part
CARVE_END: Final = CARVE + 8
BLOCKS: Final = CARVE_END + 8  # the first of all blocks
LEAKED: Final = BLOCKS + 8  # number of live objects at the end of the last call
# growing buffers: { ptr memory, i64 capacity, i64 used }, in bytes
EXPORTED: Final = LEAKED + 8  # the words of the last export
ELEMENTS: Final = EXPORTED + 24  # the elements of small tensors in it
WORK: Final = ELEMENTS + 24
CELLS: Final = WORK + 24
REST: Final = CELLS + 24  # address of the arguments that are not in registers
ASKED: Final = REST + 8  # the sizes of a tensor that would be too large
MOST_ASKED: Final = 14
DEVICE: Final = ASKED + 8 * MOST_ASKED  # whose memory tensors lie in (`device.py`), or null
SMALL_LISTS: Final = 512  # free list of each small class
SMALL_CLASSES: Final = 65  # class c has 64 * c bytes; class 0 is unused
BLOCK_LISTS: Final = SMALL_LISTS + 8 * SMALL_CLASSES
BLOCK_CLASSES: Final = 120
WATCH: Final = BLOCK_LISTS + 8 * BLOCK_CLASSES  # of this call, if it has a callback
PROGRAM_CONTEXT_SIZE: Final = 2048

# --- header of slabs and blocks

CHUNK_NEXT: Final = 0
CHUNK_PREVIOUS: Final = 8
CHUNK_BASE: Final = 16  # as returned by `malloc`
CHUNK_BYTES: Final = 24  # as passed to `malloc`
CHUNK_CLASS: Final = 32
CHUNK_FREE: Final = 40  # the next free block of this class
CHUNK_HEADER: Final = 64

# --- statuses, in addition to those of kernels

STACK_OVERFLOW: Final = 16
FAILED: Final = 17  # by the instruction at SITE
UNEQUAL: Final = 18  # sizes differ; details: the two numbers
TOO_LARGE: Final = 19  # a tensor, or a size; ASKED: the sizes
DEVICE_FAILED: Final = 20  # the device reports an error


def numbers(**more: object) -> dict[str, object]:
    """All of these by name in lower case, and `more`, for the runtime's code (`notation.py`)."""
    return {name.lower(): n for name, n in globals().items() if isinstance(n, int)} | more
