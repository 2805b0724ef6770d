"""Reading Python's values into the buffer of an import, as LLVM IR.

    i32  relay_read(ptr reading, ptr arguments)      the GIL is held
    i32  relay_read_and_perform(ptr reading, ptr arguments)      so, but not while the request runs
    void relay_end_reading(ptr reading)              the GIL is held
    void relay_close_reading(ptr reading)

`arguments` is a tuple. Only the plainest values are read: exact classes that are known, exact
lists, tuples, ints, floats and arrays of NumPy. What is anything else ends it: `GAVE_UP`, and
nothing has happened. After `READ` and `HOLDS` the request has the entries (`exchange.py`), and the
words of the arguments are where they belong. After `HOLDS` there are objects that are kept alive
until `relay_end_reading`: all but those which only tuples lie between and the arguments.
Who performs the request as well is told its status too: `2 * status + READ` or `+ HOLDS`.

Python is only called through addresses in a table, so the code needs nothing of it to be linked.
How Python and NumPy lay out what is looked at directly must have been verified by whoever calls.

**What to read** is a plan, an array of i64. Records are named by their offset in it, in bytes:

    BOOLEAN
    INTEGER   low  high
    SINGLE
    DOUBLE
    TENSOR    dtype  rank  bytes of an element  size…    -1: any size; -2 - n: that of symbol n
    TUPLE     count  (record  place)…
    DATA      classes  bytes of each  count  Cons  Nil  Some  None
    NOTHING                                              what cannot be read here

`place` is the word in the entry the tuple belongs to, counted from its first. `Cons` is the case
that an exact list is made of, or 0, and `Nil` its empty one, a word; `Some` is the case of whatever
has a class without a case, or 0, and `None` the word of Python's None. A class is

    type  case  name…      address of the type, its case or 0, addresses of the names of the fields

and a case

    word  tag  objects  words  count  (record  place)…    the word stands for all values, if not 0
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

IMPORTS: Final = frozenset({"calloc"})

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

# the table: functions of Python, and addresses of objects
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

# a reading, in bytes: what whoever calls fills in
READING_API: Final = 0
READING_PLAN: Final = 8
READING_ROOT: Final = 16  # the record of the tuple of arguments
READING_REQUEST: Final = 24
READING_WORDS: Final = 32  # where the words of the arguments go
READING_COUNT: Final = 40  # how many there are
READING_SYMBOLS: Final = 48  # memory for the sizes that have names
READING_SYMBOL_COUNT: Final = 56
# what is 0 at first: buffers, as in a context; slots of a table of { address, record, word, call }
READING_ENTRIES: Final = 64
READING_WORK: Final = 88  # values to be read: { address, record, offset of the word, is held }
READING_HELD: Final = 112
READING_SLOTS: Final = 136
READING_SLOT_COUNT: Final = 144  # a power of two, or 0
READING_SLOTS_USED: Final = 152
READING_CALL: Final = 160  # how many there were: slots of other calls are free
READING_SIZE: Final = 168

# what Python's and NumPy's objects have where
OBJECT_TYPE: Final = 8
ARRAY_DATA: Final = 16
ARRAY_RANK: Final = 24  # i32
ARRAY_SIZES: Final = 32
ARRAY_DTYPE: Final = 56
ARRAY_FLAGS: Final = 64  # i32
ARRAY_PLAIN: Final = 0x101  # dense and in order, aligned


def text() -> str:
    """The functions above; they use those of `exchange.py`."""
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
        python_walk.BEGIN,  # from here on to the end: one function
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
next:                                    ; the end of an object may run anything
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
  br ugt i64 %count, 524288, label %shrink, label %out   ; 16 MB, as of other buffers
shrink:
  call void @relay_drop_slots(ptr %reading)
  br label %out
out:
  ret void
}

; The memory of a reading goes back to the system. Nothing is held by it.
define void @relay_close_reading(ptr %reading) nounwind {
  call void @relay_drop_buffer(ptr %reading[$reading_entries])
  call void @relay_drop_buffer(ptr %reading[$reading_work])
  call void @relay_drop_buffer(ptr %reading[$reading_held])
  call void @relay_drop_slots(ptr %reading)
  ret void
}
"""
