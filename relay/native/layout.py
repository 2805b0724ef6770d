"""What native programs hold in memory, as offsets: objects, and the context of a running call.

An object word is the address of an object, or an odd number: `tag * 2 + 1` is a constructor without
fields. Every object begins with

     0  i64  count      who holds it; negative for what lives as long as the program (constants)
     8  i32  kind
    12  i32  detail     rank of a tensor, tag of data
    16  ...

A tensor (address a multiple of 64) is dense and row-major; its element type is known to the code:

    16  ptr  data
    24  i64  owner      INLINE: the elements lie in the object; BLOCK: in a block of the heap;
                        EXTERNAL: somebody else's memory, that outlives the call; otherwise the
                        address of the object whose memory it is, held by this one
    32  i64  bytes      of the elements
    40  i64  dims[rank]
        elements of an INLINE tensor begin at the next multiple of 64

Data, closures and cells hold words; those that are object words come first, so that they can be
released without knowing the type:

    16  i32  objects    how many of the words are object words
    20  i32  words      how many there are
    24  i64  words[]    of a closure the first after these two is its code, and `words` follow at 32

Cells can form cycles, which counting never frees: those of a call are in a list, and what is left
in it at the end of the call is let go. Two words before the contents of a cell link it there.
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
EXTERNAL: Final = 2

OBJECTS: Final = 16
WORDS: Final = 20
DATA_WORDS: Final = 24
CLOSURE_CODE: Final = 24
CLOSURE_WORDS: Final = 32
REFERENCE_NEXT: Final = 24
REFERENCE_PREVIOUS: Final = 32
REFERENCE_WORDS: Final = 40

IMMORTAL: Final = -(1 << 62)

# --- the context: that of kernels (`relay.target.llvm.abi`), and after it what programs look at

STACK_LIMIT: Final = abi.CONTEXT_SIZE  # a function that begins below this address fails
FRAME: Final = STACK_LIMIT + 8  # the free end of the memory for local tensors and workspaces
FRAME_END: Final = FRAME + 8
COUNTDOWN: Final = FRAME_END + 8  # calls and turns of loops until `relay_poll` is called
SITE: Final = COUNTDOWN + 8  # where a failure was found: a number of the program's table of sites
CONSTANTS: Final = SITE + 8  # address of an array: the tensor objects of the program's constants
MADE: Final = CONSTANTS + 8  # how many objects were made
REFERENCES: Final = MADE + 8  # the first cell of the list
HEAP_BYTES: Final = REFERENCES + 8  # how much memory the heap has taken from the system
LIMIT: Final = HEAP_BYTES + 8  # the most bytes it may take; 0: as many as there are

# --- the context: what only the runtime itself looks at

FREED: Final = LIMIT + 8  # how many were freed: the others are alive
STACK: Final = FREED + 8  # the stack of programs: where it begins, null before the first call
STACK_SIZE: Final = STACK + 8  # set before the first call
STACK_TOP: Final = STACK_SIZE + 8
STACK_LOWEST: Final = STACK_TOP + 8  # how far down `relay_poll` has seen it used
CALLER_STACK: Final = STACK_LOWEST + 8  # the stack pointer of whoever called
FRAMES: Final = CALLER_STACK + 8  # memory of frames: where it begins
FRAMES_SIZE: Final = FRAMES + 8  # set before the first call
CALLBACK: Final = FRAMES_SIZE + 8  # i32 (ptr, ptr, ptr), or null: not 0 ends the call
CALLED_BACK: Final = CALLBACK + 8  # when, in nanoseconds
POLLED: Final = CALLED_BACK + 8  # when
STRIDE: Final = POLLED + 8  # what the countdown began with
SLABS: Final = STRIDE + 8  # the first slab
SLAB: Final = SLABS + 8  # the one that objects are cut from now
CARVE: Final = SLAB + 8  # its part that is left
CARVE_END: Final = CARVE + 8
BLOCKS: Final = CARVE_END + 8  # the first block, of all there are
LEAKED: Final = BLOCKS + 8  # objects that were alive at the end of the last call
# buffers that grow: { ptr memory, i64 capacity, i64 used }, in bytes
EXPORTED: Final = LEAKED + 8  # the words of the last export
ELEMENTS: Final = EXPORTED + 24  # the elements of small tensors in it
WORK: Final = ELEMENTS + 24
CELLS: Final = WORK + 24
REST: Final = CELLS + 24  # address of the arguments of the next call that have no register
ASKED: Final = REST + 8  # the sizes of what would be too large, as far as there are places
MOST_ASKED: Final = 14
SMALL_LISTS: Final = 512  # of every small class the first free object
SMALL_CLASSES: Final = 65  # class c has 64 * c bytes; there is none of class 0
BLOCK_LISTS: Final = SMALL_LISTS + 8 * SMALL_CLASSES
BLOCK_CLASSES: Final = 120
WATCH: Final = BLOCK_LISTS + 8 * BLOCK_CLASSES  # that of this call, where there is a callback
PROGRAM_CONTEXT_SIZE: Final = 2048

# --- slabs and blocks: what lies before their memory

CHUNK_NEXT: Final = 0
CHUNK_PREVIOUS: Final = 8
CHUNK_BASE: Final = 16  # as `malloc` gave it
CHUNK_BYTES: Final = 24  # what was asked of `malloc`
CHUNK_CLASS: Final = 32
CHUNK_FREE: Final = 40  # the next free block of this class
CHUNK_HEADER: Final = 64

# --- statuses, besides those of kernels

STACK_OVERFLOW: Final = 16
FAILED: Final = 17  # `fail`: SITE says which
UNEQUAL: Final = 18  # `require`: SITE says which; details: the two numbers
TOO_LARGE: Final = 19  # `compute`, `alloc`, `view`: SITE says which; ASKED: the sizes


def numbers(**more: object) -> dict[str, object]:
    """All of these by name in lower case, and `more`, for the runtime's code (`notation.py`)."""
    return {name.lower(): n for name, n in globals().items() if isinstance(n, int)} | more
