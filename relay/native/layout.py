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

from relay.target import abi

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

# --- the context: that of kernels (`relay.target.abi`), and after it

STACK_LIMIT: Final = abi.CONTEXT_SIZE  # a function that begins below this address fails
FRAME: Final = STACK_LIMIT + 8  # the free end of the memory for local tensors and workspaces
FRAME_END: Final = FRAME + 8
COUNTDOWN: Final = FRAME_END + 8  # calls and turns of loops until `relay_poll` is called
SITE: Final = COUNTDOWN + 8  # where a failure was found: a number of the program's table of sites
CONSTANTS: Final = SITE + 8  # address of an array: the tensor objects of the program's constants
LIVE: Final = CONSTANTS + 8  # objects of this call that are alive
REFERENCES: Final = LIVE + 8  # the first cell of the list
HEAP: Final = REFERENCES + 8  # address of the allocator's own data
LIMIT: Final = HEAP + 8  # the most bytes the heap may take; 0: as many as there are
PROGRAM_CONTEXT_SIZE: Final = 512  # what lies behind LIMIT is the runtime's own

# --- statuses, besides those of kernels

STACK_OVERFLOW: Final = 16
FAILED: Final = 17  # `fail`: SITE says which
UNEQUAL: Final = 18  # `require`: SITE says which; details: the two numbers
