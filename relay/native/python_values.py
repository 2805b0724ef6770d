"""Reads Python values into the buffer of an import, in LLVM IR.

    i32  relay_read(ptr reading, ptr arguments)                  with the GIL
    i32  relay_read_and_perform(ptr reading, ptr arguments)      releases it while the request runs
    void relay_end_reading(ptr reading)                          with the GIL
    void relay_close_reading(ptr reading)

`arguments` is a tuple. Only None, and instances of exactly the known classes, of list, tuple, bool,
int, float and ndarray are read; for others the result is `GAVE_UP`, without side effects. After
`READ` and `HOLDS` the entries (`exchange.py`) are in the request, and the words of the arguments in
place. After `HOLDS` some objects are kept alive until `relay_end_reading`.
`relay_read_and_perform` returns `2 * status + READ` or `+ HOLDS`.

Python is called through a table of addresses, so the code links without it. The caller must have
verified the memory layout of Python objects and NumPy arrays.

**The plan** says what to read, as an array of i64. Records are identified by their offset in bytes:

    BOOLEAN
    INTEGER   low  high
    SINGLE
    DOUBLE
    TENSOR    dtype  rank  bytes of an element  size…    -1: any size; -2 - n: dynamic size n
    TUPLE     count  (record  place)…
    DATA      classes  bytes of each  count  Cons  Nil  Some  None
    NOTHING                                              cannot be read here

`place` is the index of the word in the entry of the tuple. `Cons` is the case of list cells, or 0,
and `Nil` the word of the empty list; `Some` is the case of instances of classes without a case, or
0, and `None` the word of Python's None. A class is

    type  case  name…      address of the type, its case or 0, addresses of the names of the fields

and a case

    word  tag  objects  words  count  (record  place)…    the word of all values, if not 0
"""

from __future__ import annotations

from typing import Final

from relay.native import layout, python_data, python_leaves, python_seen, python_walk
from relay.native.notation import assemble

FUNCTIONS: Final = (
    "relay_read",
    "relay_read_and_perform",
    "relay_end_reading",
    "relay_close_reading",
)

GAVE_UP: Final = -1
READ: Final = 0
HOLDS: Final = 1

NOTHING: Final = 0
BOOLEAN: Final = 1
INTEGER: Final = 2
SINGLE: Final = 3
DOUBLE: Final = 4
TENSOR: Final = 5
TUPLE: Final = 6
DATA: Final = 7

ANY_SIZE: Final = -1
FIRST_SYMBOL: Final = -2

# the table: functions of Python, and objects
API: Final = (
    "PyObject_GetAttr",
    "PyList_Size",
    "PyList_GetItem",
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyLong_AsLongLongAndOverflow",
    "PyFloat_AsDouble",
    "Py_IncRef",
    "Py_DecRef",
    "PyErr_Clear",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
OBJECTS: Final = ("list", "tuple", "int", "float", "ndarray", "None", "True", "False")

# offsets of a reading: set by the caller
READING_API: Final = 0
READING_PLAN: Final = 8
READING_ROOT: Final = 16  # the record of the arguments
READING_REQUEST: Final = 24
READING_WORDS: Final = 32  # destination of the words of the arguments
READING_COUNT: Final = 40  # their number
READING_SYMBOLS: Final = 48  # memory for dynamic sizes
READING_SYMBOL_COUNT: Final = 56
# initially 0: buffers, as in a context; slots of the hash table
READING_ENTRIES: Final = 64
READING_WORK: Final = 88  # the stack: { address, record, offset of the word, is held }
READING_HELD: Final = 112
READING_SLOTS: Final = 136
READING_SLOT_COUNT: Final = 144  # a power of two, or 0
READING_SLOTS_USED: Final = 152
READING_CALL: Final = 160  # number of calls: slots of earlier calls are free
READING_SIZE: Final = 168

# memory layout of Python objects and NumPy arrays
OBJECT_TYPE: Final = 8
ARRAY_DATA: Final = 16
ARRAY_RANK: Final = 24  # i32
ARRAY_SIZES: Final = 32
ARRAY_DTYPE: Final = 56
ARRAY_FLAGS: Final = 64  # i32
ARRAY_PLAIN: Final = 0x101  # C-contiguous, aligned


def text() -> str:
    """All functions; they call those of `exchange.py`."""
    own = {name.lower(): n for name, n in globals().items() if isinstance(n, int)}
    table = [*(name.lower() for name in API), *(f"the_{name.lower()}" for name in OBJECTS)]
    places = {f"at_{name}": 8 * place for place, name in enumerate(table)}
    numbers = layout.numbers()
    kinds = {f"entry_{name}": numbers[name] for name in ("tensor", "data")}
    texts = (
        _READING,
        python_seen.SEEN,
        python_walk.STEPS,
        python_data.ENTRIES,
        python_walk.BEGIN,  # the rest is one function
        python_leaves.LEAVES,
        python_data.BLOCKS,
        python_walk.END,
    )
    return assemble("".join(texts), {**own, **places, **kinds})


_READING: Final = """
declare ptr @calloc(i64, i64)

define i32 @relay_read_and_perform(ptr %reading, ptr %arguments) nounwind {
entry:
  %read = call i32 @relay_read(ptr %reading, ptr %arguments)
  br sge i32 %read, 0, label %perform, label %end
perform:
  %api = load ptr, ptr %reading
  %leave = load ptr, ptr %api[$at_pyeval_savethread]
  %return = load ptr, ptr %api[$at_pyeval_restorethread]
  %request = load ptr, ptr %reading[$reading_request]
  %thread = call ptr %leave()
  %status = call i32 @relay_perform(ptr %request)
  call void %return(ptr %thread)
  %twice = shl i32 %status, 1
  %both = or i32 %twice, %read
  br label %end
end:
  %found = phi i32 [ %read, %entry ], [ %both, %perform ]
  ret i32 %found
}

define void @relay_end_reading(ptr %reading) nounwind {
entry:
  %api = load ptr, ptr %reading
  %drop = load ptr, ptr %api[$at_py_decref]
  %held = getelementptr i8, ptr %reading, i64 $reading_held
  br label %next
next:                                    ; a destructor may run any code
  %used = load i64, ptr %held[16]
  br ne i64 %used, 0, label %take, label %done
take:
  %less = sub i64 %used, 8
  store i64 %less, ptr %held[16]
  %memory = load ptr, ptr %held
  %object = load ptr, ptr %memory[%less]
  call void %drop(ptr %object)
  br label %next
done:
  call void @relay_empty(ptr %held)
  %count = load i64, ptr %reading[$reading_slot_count]
  br ugt i64 %count, 524288, label %shrink, label %out   ; 16 MB, as for other buffers
shrink:
  call void @relay_drop_slots(ptr %reading)
  br label %out
out:
  ret void
}

; Return the memory of a reading to the system; it must be ended.
define void @relay_close_reading(ptr %reading) nounwind {
  call void @relay_drop_buffer(ptr %reading[$reading_entries])
  call void @relay_drop_buffer(ptr %reading[$reading_work])
  call void @relay_drop_buffer(ptr %reading[$reading_held])
  call void @relay_drop_slots(ptr %reading)
  ret void
}
"""
