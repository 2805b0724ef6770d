"""Reading Python's values into the buffer of an import, as LLVM IR.

    i32  relay_read(ptr reading, ptr arguments)      the GIL is held
    void relay_end_reading(ptr reading)              the GIL is held
    void relay_close_reading(ptr reading)

`arguments` is a tuple. Only the plainest values are read: exact classes that are known, exact
lists, tuples, ints, floats and arrays of NumPy. What is anything else ends it: `GAVE_UP`, and
nothing has happened. After `READ` and `HOLDS` the request has the entries (`exchange.py`), and the
words of the arguments are where they belong. After `HOLDS` there are objects that are kept alive
until `relay_end_reading`: all but those which only tuples lie between and the arguments.

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

from string import Template
from typing import Final

from relay.native import layout

FUNCTIONS: Final = ("relay_read", "relay_end_reading", "relay_close_reading")

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
    return _READ.substitute({**own, **places, **kinds})


_READ: Final = Template("""
declare ptr @calloc(i64, i64)

; The word of an object that was read as that record: -1, to be filled in, if it was not; or null.
define internal ptr @relay_seen(ptr %reading, i64 %address, i64 %record) nounwind {
entry:
  %slots.at = getelementptr i8, ptr %reading, i64 $reading_slots
  %count.at = getelementptr i8, ptr %reading, i64 $reading_slot_count
  %used.at = getelementptr i8, ptr %reading, i64 $reading_slots_used
  %call.at = getelementptr i8, ptr %reading, i64 $reading_call
  %call = load i64, ptr %call.at
  %used = load i64, ptr %used.at
  %used.twice = shl i64 %used, 1
  %count.before = load i64, ptr %count.at
  %full = icmp uge i64 %used.twice, %count.before
  br i1 %full, label %grow, label %look.up
grow:
  %grown = call i1 @relay_more_slots(ptr %reading)
  br i1 %grown, label %look.up, label %fail
look.up:
  %slots = load ptr, ptr %slots.at
  %count = load i64, ptr %count.at
  %found = call ptr @relay_slot(ptr %slots, i64 %count, i64 %call, i64 %address, i64 %record)
  %word.at = getelementptr i64, ptr %found, i64 2
  %slot.call.at = getelementptr i64, ptr %found, i64 3
  %slot.call = load i64, ptr %slot.call.at
  %known = icmp eq i64 %slot.call, %call
  br i1 %known, label %done, label %take
take:
  store i64 %address, ptr %found
  %record.at = getelementptr i64, ptr %found, i64 1
  store i64 %record, ptr %record.at
  store i64 -1, ptr %word.at
  store i64 %call, ptr %slot.call.at
  %used.more = add i64 %used, 1
  store i64 %used.more, ptr %used.at
  br label %done
done:
  ret ptr %word.at
fail:
  ret ptr null
}

; The slot of an object and a record, or the free one where it would be.
define internal ptr @relay_slot(ptr %slots, i64 %count, i64 %call, i64 %address, i64 %record)
    nounwind {
entry:
  %mask = sub i64 %count, 1
  %address.high = lshr i64 %address, 4   ; objects lie on multiples of 16
  %record.spread = mul i64 %record, 40503
  %both = xor i64 %address.high, %record.spread
  %spread = mul i64 %both, -7046029254386353131
  %first = lshr i64 %spread, 32
  br label %look
look:
  %place = phi i64 [ %first, %entry ], [ %place.next, %other ]
  %inside = and i64 %place, %mask
  %slot = getelementptr { i64, i64, i64, i64 }, ptr %slots, i64 %inside
  %slot.call.at = getelementptr i64, ptr %slot, i64 3
  %slot.call = load i64, ptr %slot.call.at
  %taken = icmp eq i64 %slot.call, %call
  br i1 %taken, label %compare, label %done
compare:
  %slot.address = load i64, ptr %slot
  %slot.record.at = getelementptr i64, ptr %slot, i64 1
  %slot.record = load i64, ptr %slot.record.at
  %same.address = icmp eq i64 %slot.address, %address
  %same.record = icmp eq i64 %slot.record, %record
  %same = and i1 %same.address, %same.record
  br i1 %same, label %done, label %other
other:
  %place.next = add i64 %inside, 1
  br label %look
done:
  ret ptr %slot
}

define internal i1 @relay_more_slots(ptr %reading) nounwind {
entry:
  %slots.at = getelementptr i8, ptr %reading, i64 $reading_slots
  %count.at = getelementptr i8, ptr %reading, i64 $reading_slot_count
  %call.at = getelementptr i8, ptr %reading, i64 $reading_call
  %call = load i64, ptr %call.at
  %slots = load ptr, ptr %slots.at
  %count = load i64, ptr %count.at
  %twice = shl i64 %count, 1
  %wanted = call i64 @llvm.umax.i64(i64 %twice, i64 64)
  %larger = call ptr @calloc(i64 %wanted, i64 32) ; all free: calls are counted from 1
  %none = icmp eq ptr %larger, null
  br i1 %none, label %fail, label %begin
begin:
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %i.next, %skip ], [ %i.next.moved, %move ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %look, label %done
look:
  %from = getelementptr { i64, i64, i64, i64 }, ptr %slots, i64 %i
  %from.call.at = getelementptr i64, ptr %from, i64 3
  %from.call = load i64, ptr %from.call.at
  %taken = icmp eq i64 %from.call, %call
  br i1 %taken, label %move, label %skip
skip:
  %i.next = add i64 %i, 1
  br label %next
move:
  %address = load i64, ptr %from
  %record.at = getelementptr i64, ptr %from, i64 1
  %record = load i64, ptr %record.at
  %to = call ptr @relay_slot(ptr %larger, i64 %wanted, i64 %call, i64 %address, i64 %record)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 32, i1 false)
  %i.next.moved = add i64 %i, 1
  br label %next
done:
  call void @free(ptr %slots)
  store ptr %larger, ptr %slots.at
  store i64 %wanted, ptr %count.at
  ret i1 true
fail:
  ret i1 false
}

; One more value to be read.
define internal i1 @relay_add_value(ptr %reading, ptr %object, i64 %record, i64 %to, i64 %is.held)
    nounwind {
entry:
  %work = getelementptr i8, ptr %reading, i64 $reading_work
  %room = call ptr @relay_room(ptr %work, i64 32)
  %none = icmp eq ptr %room, null
  br i1 %none, label %fail, label %fill
fill:
  store ptr %object, ptr %room
  %record.at = getelementptr i64, ptr %room, i64 1
  store i64 %record, ptr %record.at
  %to.at = getelementptr i64, ptr %room, i64 2
  store i64 %to, ptr %to.at
  %is.held.at = getelementptr i64, ptr %room, i64 3
  store i64 %is.held, ptr %is.held.at
  ret i1 true
fail:
  ret i1 false
}

define i32 @relay_read(ptr %reading, ptr %arguments) nounwind {
entry:
  %overflow = alloca i32
  %is.held = alloca i64                  ; whether the value that is read now is held by this
  store i64 0, ptr %is.held
  %current = alloca ptr                  ; that value
  %api = load ptr, ptr %reading
  %plan.at = getelementptr i8, ptr %reading, i64 $reading_plan
  %plan = load ptr, ptr %plan.at
  %root.at = getelementptr i8, ptr %reading, i64 $reading_root
  %root = load i64, ptr %root.at
  %request.at = getelementptr i8, ptr %reading, i64 $reading_request
  %request = load ptr, ptr %request.at
  %words.at = getelementptr i8, ptr %reading, i64 $reading_words
  %words = load ptr, ptr %words.at
  %words.count.at = getelementptr i8, ptr %reading, i64 $reading_count
  %words.count = load i64, ptr %words.count.at
  %symbols.at = getelementptr i8, ptr %reading, i64 $reading_symbols
  %symbols = load ptr, ptr %symbols.at
  %symbols.count.at = getelementptr i8, ptr %reading, i64 $reading_symbol_count
  %symbols.count = load i64, ptr %symbols.count.at
  %entries = getelementptr i8, ptr %reading, i64 $reading_entries
  %work = getelementptr i8, ptr %reading, i64 $reading_work
  %work.used = getelementptr i8, ptr %work, i64 16
  %held = getelementptr i8, ptr %reading, i64 $reading_held

  %get.attribute.at = getelementptr i8, ptr %api, i64 $at_pyobject_getattr
  %get.attribute = load ptr, ptr %get.attribute.at
  %list.size.at = getelementptr i8, ptr %api, i64 $at_pylist_size
  %list.size = load ptr, ptr %list.size.at
  %list.item.at = getelementptr i8, ptr %api, i64 $at_pylist_getitem
  %list.item = load ptr, ptr %list.item.at
  %tuple.size.at = getelementptr i8, ptr %api, i64 $at_pytuple_size
  %tuple.size = load ptr, ptr %tuple.size.at
  %tuple.item.at = getelementptr i8, ptr %api, i64 $at_pytuple_getitem
  %tuple.item = load ptr, ptr %tuple.item.at
  %integer.at = getelementptr i8, ptr %api, i64 $at_pylong_aslonglongandoverflow
  %integer = load ptr, ptr %integer.at
  %real.at = getelementptr i8, ptr %api, i64 $at_pyfloat_asdouble
  %real = load ptr, ptr %real.at
  %hold.at = getelementptr i8, ptr %api, i64 $at_py_incref
  %hold = load ptr, ptr %hold.at
  %drop.at = getelementptr i8, ptr %api, i64 $at_py_decref
  %drop = load ptr, ptr %drop.at
  %list.type.at = getelementptr i8, ptr %api, i64 $at_the_list
  %list.type = load ptr, ptr %list.type.at
  %tuple.type.at = getelementptr i8, ptr %api, i64 $at_the_tuple
  %tuple.type = load ptr, ptr %tuple.type.at
  %int.type.at = getelementptr i8, ptr %api, i64 $at_the_int
  %int.type = load ptr, ptr %int.type.at
  %float.type.at = getelementptr i8, ptr %api, i64 $at_the_float
  %float.type = load ptr, ptr %float.type.at
  %array.type.at = getelementptr i8, ptr %api, i64 $at_the_ndarray
  %array.type = load ptr, ptr %array.type.at
  %none.at = getelementptr i8, ptr %api, i64 $at_the_none
  %none = load ptr, ptr %none.at
  %true.at = getelementptr i8, ptr %api, i64 $at_the_true
  %true = load ptr, ptr %true.at
  %false.at = getelementptr i8, ptr %api, i64 $at_the_false
  %false = load ptr, ptr %false.at

  call void @relay_empty(ptr %entries)
  call void @relay_empty(ptr %work)
  call void @relay_end_reading(ptr %reading) ; there is something where that was forgotten
  %slots.used = getelementptr i8, ptr %reading, i64 $reading_slots_used
  store i64 0, ptr %slots.used
  %call.at = getelementptr i8, ptr %reading, i64 $reading_call
  %calls = load i64, ptr %call.at
  %calls.more = add i64 %calls, 1
  store i64 %calls.more, ptr %call.at
  %symbols.bytes = shl i64 %symbols.count, 3
  call void @llvm.memset.p0.i64(ptr %symbols, i8 -1, i64 %symbols.bytes, i1 false)
  %words.bytes = shl i64 %words.count, 3
  %words.room = call ptr @relay_room(ptr %entries, i64 %words.bytes)
  %no.room = icmp eq ptr %words.room, null
  br i1 %no.room, label %give.up, label %begin
begin:
  %begun = call i1 @relay_add_value(ptr %reading, ptr %arguments, i64 %root, i64 0, i64 0)
  br i1 %begun, label %next, label %give.up

next:
  ; the number of the next entry
  %n = phi i64 [ 0, %begin ], [ %n, %dropped ], [ %n.tensor, %keep.tensor ], [ %n, %tuple.next ],
               [ %n.value, %field.next ], [ %n.list, %element.next ], [ %n.some, %some.inside ]
  %used = load i64, ptr %work.used
  %any = icmp ne i64 %used, 0
  br i1 %any, label %take, label %finish
take:
  %used.less = sub i64 %used, 32
  store i64 %used.less, ptr %work.used
  %work.memory = load ptr, ptr %work
  %item = getelementptr i8, ptr %work.memory, i64 %used.less
  %object = load ptr, ptr %item
  %record.at = getelementptr i64, ptr %item, i64 1
  %record = load i64, ptr %record.at
  %to.at = getelementptr i64, ptr %item, i64 2
  %to = load i64, ptr %to.at
  %item.held.at = getelementptr i64, ptr %item, i64 3
  %item.held = load i64, ptr %item.held.at
  store i64 %item.held, ptr %is.held
  store ptr %object, ptr %current
  %address = ptrtoint ptr %object to i64
  %type.at = getelementptr i8, ptr %object, i64 $object_type
  %type = load ptr, ptr %type.at
  %what = getelementptr i8, ptr %plan, i64 %record
  %kind = load i64, ptr %what
  %first.at = getelementptr i64, ptr %what, i64 1
  %second.at = getelementptr i64, ptr %what, i64 2
  %third.at = getelementptr i64, ptr %what, i64 3
  switch i64 %kind, label %give.up [
    i64 $boolean, label %a.boolean
    i64 $integer, label %an.integer
    i64 $single, label %a.float
    i64 $double, label %a.float
    i64 $tensor, label %a.tensor
    i64 $tuple, label %a.tuple
    i64 $data, label %data
  ]

; --- the value is a word, and need not be kept

put:
  %word = phi i64 [ 1, %a.boolean ], [ 0, %perhaps.false ], [ %number, %in.range ],
                  [ %single.word, %a.single ], [ %double.word, %a.double ],
                  [ %tensor.word.seen, %tensor.look ], [ %value.word, %a.value ],
                  [ %value.word.seen, %value.look ], [ %nil, %a.list ],
                  [ %list.word.seen, %list.look ], [ %none.word, %perhaps.none ]
  %put.memory = load ptr, ptr %entries
  %put.at = getelementptr i8, ptr %put.memory, i64 %to
  store i64 %word, ptr %put.at
  %put.held = load i64, ptr %is.held
  %put.drop = icmp ne i64 %put.held, 0
  br i1 %put.drop, label %let.go, label %dropped
let.go:
  store i64 0, ptr %is.held
  call void %drop(ptr %object)
  br label %dropped
dropped:
  br label %next

; --- scalars

a.boolean:
  %is.true = icmp eq ptr %object, %true
  br i1 %is.true, label %put, label %perhaps.false
perhaps.false:
  %is.false = icmp eq ptr %object, %false
  br i1 %is.false, label %put, label %give.up
an.integer:
  %is.integer = icmp eq ptr %type, %int.type
  br i1 %is.integer, label %read.integer, label %give.up
read.integer:
  %number = call i64 %integer(ptr %object, ptr %overflow)
  %too.large = load i32, ptr %overflow
  %fits = icmp eq i32 %too.large, 0
  %low = load i64, ptr %first.at
  %high = load i64, ptr %second.at
  %not.less = icmp sge i64 %number, %low
  %not.more = icmp sle i64 %number, %high
  %between = and i1 %not.less, %not.more
  %fine = and i1 %fits, %between
  br i1 %fine, label %in.range, label %give.up
in.range:
  br label %put
a.float:
  %is.float = icmp eq ptr %type, %float.type
  br i1 %is.float, label %read.float, label %perhaps.whole
read.float:
  %as.float = call double %real(ptr %object)
  br label %have.float
perhaps.whole:
  %is.whole = icmp eq ptr %type, %int.type
  br i1 %is.whole, label %read.whole, label %give.up
read.whole:
  %whole = call i64 %integer(ptr %object, ptr %overflow)
  %whole.too.large = load i32, ptr %overflow
  %whole.fits = icmp eq i32 %whole.too.large, 0
  br i1 %whole.fits, label %convert.whole, label %give.up
convert.whole:
  %as.whole = sitofp i64 %whole to double
  br label %have.float
have.float:
  %float = phi double [ %as.float, %read.float ], [ %as.whole, %convert.whole ]
  %is.double = icmp eq i64 %kind, $double
  br i1 %is.double, label %a.double, label %a.single
a.double:
  %double.word = bitcast double %float to i64
  br label %put
a.single:
  %narrow = fptrunc double %float to float
  %narrow.bits = bitcast float %narrow to i32
  %single.word = sext i32 %narrow.bits to i64
  br label %put

; --- tensors

a.tensor:
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %tensor.find, label %give.up
tensor.find:
  %tensor.slot = call ptr @relay_seen(ptr %reading, i64 %address, i64 %record)
  %no.tensor.slot = icmp eq ptr %tensor.slot, null
  br i1 %no.tensor.slot, label %give.up, label %tensor.look
tensor.look:
  %tensor.word.seen = load i64, ptr %tensor.slot
  %tensor.seen = icmp ne i64 %tensor.word.seen, -1
  br i1 %tensor.seen, label %put, label %tensor.new
tensor.new:
  %tensor.word = shl i64 %n, 1
  store i64 %tensor.word, ptr %tensor.slot
  %dtype.at = getelementptr i8, ptr %object, i64 $array_dtype
  %dtype = load i64, ptr %dtype.at
  %dtype.wanted = load i64, ptr %first.at
  %dtype.fine = icmp eq i64 %dtype, %dtype.wanted
  %rank.at = getelementptr i8, ptr %object, i64 $array_rank
  %rank.narrow = load i32, ptr %rank.at
  %rank = zext i32 %rank.narrow to i64
  %rank.wanted = load i64, ptr %second.at
  %rank.fine = icmp eq i64 %rank, %rank.wanted
  %flags.at = getelementptr i8, ptr %object, i64 $array_flags
  %flags = load i32, ptr %flags.at
  %flags.plain = and i32 %flags, $array_plain
  %flags.fine = icmp eq i32 %flags.plain, $array_plain
  %dtype.and.rank = and i1 %dtype.fine, %rank.fine
  %tensor.fine = and i1 %dtype.and.rank, %flags.fine
  br i1 %tensor.fine, label %tensor.room, label %give.up
tensor.room:
  %tensor.words = add i64 %rank, 4
  %tensor.bytes = shl i64 %tensor.words, 3
  %tensor.entry = call ptr @relay_room(ptr %entries, i64 %tensor.bytes)
  %no.tensor.entry = icmp eq ptr %tensor.entry, null
  br i1 %no.tensor.entry, label %give.up, label %tensor.fill
tensor.fill:
  %tensor.memory = load ptr, ptr %entries
  %tensor.to = getelementptr i8, ptr %tensor.memory, i64 %to
  store i64 %tensor.word, ptr %tensor.to
  %tensor.number = shl i64 %n, 8
  %tensor.kind = or i64 %tensor.number, $entry_tensor
  store i64 %tensor.kind, ptr %tensor.entry
  %rank.to = getelementptr i64, ptr %tensor.entry, i64 1
  store i64 %rank, ptr %rank.to
  %elements.at = getelementptr i8, ptr %object, i64 $array_data
  %elements = load i64, ptr %elements.at
  %elements.to = getelementptr i64, ptr %tensor.entry, i64 2
  store i64 %elements, ptr %elements.to
  %sizes.to = getelementptr i64, ptr %tensor.entry, i64 4
  %sizes.at = getelementptr i8, ptr %object, i64 $array_sizes
  %sizes = load ptr, ptr %sizes.at
  %element.bytes = load i64, ptr %third.at
  %sizes.wanted = getelementptr i64, ptr %what, i64 4
  br label %size.next
size.next:
  %axis = phi i64 [ 0, %tensor.fill ], [ %axis.next, %size.fine ]
  %bytes = phi i64 [ %element.bytes, %tensor.fill ], [ %bytes.more, %size.fine ]
  %axes.left = icmp ult i64 %axis, %rank
  br i1 %axes.left, label %size.look, label %tensor.done
size.look:
  %size.at = getelementptr i64, ptr %sizes, i64 %axis
  %size = load i64, ptr %size.at
  %size.to = getelementptr i64, ptr %sizes.to, i64 %axis
  store i64 %size, ptr %size.to
  %wanted.at = getelementptr i64, ptr %sizes.wanted, i64 %axis
  %wanted = load i64, ptr %wanted.at
  %bytes.more = mul i64 %bytes, %size
  %any.size = icmp eq i64 %wanted, $any_size
  br i1 %any.size, label %size.fine, label %size.compare
size.compare:
  %symbolic = icmp slt i64 %wanted, 0
  br i1 %symbolic, label %symbol, label %size.known
symbol:
  %symbol.number = sub i64 $first_symbol, %wanted
  %symbol.at = getelementptr i64, ptr %symbols, i64 %symbol.number
  %symbol.size = load i64, ptr %symbol.at
  %unbound = icmp slt i64 %symbol.size, 0
  br i1 %unbound, label %bind, label %size.known
bind:
  store i64 %size, ptr %symbol.at
  br label %size.fine
size.known:
  %size.wanted = phi i64 [ %wanted, %size.compare ], [ %symbol.size, %symbol ]
  %size.same = icmp eq i64 %size, %size.wanted
  br i1 %size.same, label %size.fine, label %give.up
size.fine:
  %axis.next = add i64 %axis, 1
  br label %size.next
tensor.done:
  %bytes.to = getelementptr i64, ptr %tensor.entry, i64 3
  store i64 %bytes, ptr %bytes.to
  %n.tensor = add i64 %n, 1
  %tensor.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %tensor.kept, label %keep.tensor, label %give.up
keep.tensor:
  br label %next

; --- tuples: what they hold they hold for as long as they are held themselves

a.tuple:
  %is.tuple = icmp eq ptr %type, %tuple.type
  br i1 %is.tuple, label %tuple.measure, label %give.up
tuple.measure:
  %parts = call i64 %tuple.size(ptr %object)
  %parts.wanted = load i64, ptr %first.at
  %parts.fine = icmp eq i64 %parts, %parts.wanted
  br i1 %parts.fine, label %tuple.keep, label %give.up
tuple.keep:
  %tuple.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %tuple.kept, label %tuple.next, label %give.up
tuple.next:
  %p = phi i64 [ 0, %tuple.keep ], [ %p.next, %tuple.add ]
  %parts.left = icmp ult i64 %p, %parts
  br i1 %parts.left, label %tuple.add, label %next
tuple.add:
  %part = call ptr %tuple.item(ptr %object, i64 %p)
  %part.what = getelementptr { i64, i64 }, ptr %second.at, i64 %p
  %part.record = load i64, ptr %part.what
  %part.place.at = getelementptr i64, ptr %part.what, i64 1
  %part.place = load i64, ptr %part.place.at
  %part.offset = shl i64 %part.place, 3
  %part.to = add i64 %to, %part.offset
  %part.added = call i1 @relay_add_value(ptr %reading, ptr %part, i64 %part.record, i64 %part.to,
                                         i64 0)
  %p.next = add i64 %p, 1
  br i1 %part.added, label %tuple.next, label %give.up

; --- data

data:
  %classes.offset = load i64, ptr %first.at
  %classes = getelementptr i8, ptr %plan, i64 %classes.offset
  %class.bytes = load i64, ptr %second.at
  %classes.count = load i64, ptr %third.at
  %cons.at = getelementptr i64, ptr %what, i64 4
  %cons = load i64, ptr %cons.at
  %nil.at = getelementptr i64, ptr %what, i64 5
  %nil = load i64, ptr %nil.at
  %some.at = getelementptr i64, ptr %what, i64 6
  %some = load i64, ptr %some.at
  %none.word.at = getelementptr i64, ptr %what, i64 7
  %none.word = load i64, ptr %none.word.at
  %is.list = icmp eq ptr %type, %list.type
  %has.lists = icmp ne i64 %cons, 0
  %as.list = and i1 %is.list, %has.lists
  br i1 %as.list, label %a.list, label %not.a.list
not.a.list:
  %is.option = icmp ne i64 %some, 0
  br i1 %is.option, label %perhaps.none, label %class.next
perhaps.none:
  %is.none = icmp eq ptr %object, %none
  br i1 %is.none, label %put, label %class.next
class.next:
  %c = phi i64 [ 0, %not.a.list ], [ 0, %perhaps.none ], [ %c.next, %class.other ]
  %class = phi ptr [ %classes, %not.a.list ], [ %classes, %perhaps.none ],
                   [ %class.after, %class.other ]
  %classes.left = icmp ult i64 %c, %classes.count
  br i1 %classes.left, label %class.look, label %give.up
class.look:
  %class.type = load ptr, ptr %class
  %class.same = icmp eq ptr %class.type, %type
  br i1 %class.same, label %class.found, label %class.other
class.other:
  %c.next = add i64 %c, 1
  %class.after = getelementptr i8, ptr %class, i64 %class.bytes
  br label %class.next
class.found:
  %case.at = getelementptr i64, ptr %class, i64 1
  %case.offset = load i64, ptr %case.at
  %has.case = icmp ne i64 %case.offset, 0
  br i1 %has.case, label %a.value, label %no.value
no.value:
  br i1 %is.option, label %a.some, label %give.up

a.value:
  %case = getelementptr i8, ptr %plan, i64 %case.offset
  %value.word = load i64, ptr %case
  %immediate = icmp ne i64 %value.word, 0
  br i1 %immediate, label %put, label %value.find
value.find:
  %value.slot = call ptr @relay_seen(ptr %reading, i64 %address, i64 %record)
  %no.value.slot = icmp eq ptr %value.slot, null
  br i1 %no.value.slot, label %give.up, label %value.look
value.look:
  %value.word.seen = load i64, ptr %value.slot
  %value.seen = icmp ne i64 %value.word.seen, -1
  br i1 %value.seen, label %put, label %value.new
value.new:
  %value.word.new = shl i64 %n, 1
  store i64 %value.word.new, ptr %value.slot
  %value.base = call i64 @relay_begin_entry(ptr %entries, ptr %case, i64 %n, i64 1, i64 %to)
  %no.value.base = icmp slt i64 %value.base, 0
  br i1 %no.value.base, label %give.up, label %value.keep
value.keep:
  %n.value = add i64 %n, 1
  %fields.at = getelementptr i64, ptr %case, i64 4
  %fields = load i64, ptr %fields.at
  %value.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %value.kept, label %field.next, label %give.up
field.next:
  %f = phi i64 [ 0, %value.keep ], [ %f.next, %field.added ]
  %fields.left = icmp ult i64 %f, %fields
  br i1 %fields.left, label %field.get, label %next
field.get:
  %f.next = add i64 %f, 1
  %name.at = getelementptr i64, ptr %case.at, i64 %f.next
  %name = load ptr, ptr %name.at
  %field = call ptr %get.attribute(ptr %object, ptr %name)
  %no.field = icmp eq ptr %field, null
  br i1 %no.field, label %give.up, label %field.add
field.add:
  %field.first = getelementptr i64, ptr %case, i64 5
  %field.what = getelementptr { i64, i64 }, ptr %field.first, i64 %f
  %field.record = load i64, ptr %field.what
  %field.place.at = getelementptr i64, ptr %field.what, i64 1
  %field.place = load i64, ptr %field.place.at
  %field.offset = shl i64 %field.place, 3
  %field.to = add i64 %value.base, %field.offset
  %field.fine = call i1 @relay_add_value(ptr %reading, ptr %field, i64 %field.record,
                                         i64 %field.to, i64 1)
  br i1 %field.fine, label %field.added, label %field.lost
field.added:
  br label %field.next
field.lost:
  call void %drop(ptr %field)
  br label %give.up

; --- lists: one entry after the other, each of them the rest of the one before

a.list:
  %size.of.list = call i64 %list.size(ptr %object)
  %empty = icmp eq i64 %size.of.list, 0
  br i1 %empty, label %put, label %list.find
list.find:
  %list.slot = call ptr @relay_seen(ptr %reading, i64 %address, i64 %record)
  %no.list.slot = icmp eq ptr %list.slot, null
  br i1 %no.list.slot, label %give.up, label %list.look
list.look:
  %list.word.seen = load i64, ptr %list.slot
  %list.seen = icmp ne i64 %list.word.seen, -1
  br i1 %list.seen, label %put, label %list.new
list.new:
  %list.word.new = shl i64 %n, 1
  store i64 %list.word.new, ptr %list.slot
  %cons.case = getelementptr i8, ptr %plan, i64 %cons
  %list.base = call i64 @relay_begin_entry(ptr %entries, ptr %cons.case, i64 %n,
                                           i64 %size.of.list, i64 %to)
  %no.list.base = icmp slt i64 %list.base, 0
  br i1 %no.list.base, label %give.up, label %list.keep
list.keep:
  %n.list = add i64 %n, %size.of.list
  %element.record.at = getelementptr i64, ptr %cons.case, i64 5
  %element.record = load i64, ptr %element.record.at
  %element.place.at = getelementptr i64, ptr %cons.case, i64 6
  %element.place = load i64, ptr %element.place.at
  %rest.place.at = getelementptr i64, ptr %cons.case, i64 8
  %rest.place = load i64, ptr %rest.place.at
  %cons.words.at = getelementptr i64, ptr %cons.case, i64 3
  %cons.words = load i64, ptr %cons.words.at
  %cons.length = add i64 %cons.words, 4
  %cons.bytes = shl i64 %cons.length, 3
  %element.offset = shl i64 %element.place, 3
  %element.first = add i64 %list.base, %element.offset
  %rest.offset = shl i64 %rest.place, 3
  %rest.first = add i64 %list.base, %rest.offset
  %list.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %list.kept, label %element.next, label %give.up
element.next:
  %e = phi i64 [ 0, %list.keep ], [ %e.next, %element.added ]
  %element.to = phi i64 [ %element.first, %list.keep ], [ %element.to.next, %element.added ]
  %rest.to = phi i64 [ %rest.first, %list.keep ], [ %rest.to.next, %element.added ]
  %elements.left = icmp ult i64 %e, %size.of.list
  br i1 %elements.left, label %element.get, label %next
element.get:
  %element = call ptr %list.item(ptr %object, i64 %e)
  %no.element = icmp eq ptr %element, null
  br i1 %no.element, label %give.up, label %element.add
element.add:
  %element.fine = call i1 @relay_add_value(ptr %reading, ptr %element, i64 %element.record,
                                           i64 %element.to, i64 1)
  br i1 %element.fine, label %element.added, label %give.up
element.added:
  call void %hold(ptr %element)
  %e.next = add i64 %e, 1
  %is.last = icmp eq i64 %e.next, %size.of.list
  %rest.number = add i64 %n, %e.next
  %rest.word = shl i64 %rest.number, 1
  %rest = select i1 %is.last, i64 %nil, i64 %rest.word
  %rest.memory = load ptr, ptr %entries
  %rest.at = getelementptr i8, ptr %rest.memory, i64 %rest.to
  store i64 %rest, ptr %rest.at
  %element.to.next = add i64 %element.to, %cons.bytes
  %rest.to.next = add i64 %rest.to, %cons.bytes
  br label %element.next

; --- what is in an option: the same value again, as what is in it

a.some:
  %some.case = getelementptr i8, ptr %plan, i64 %some
  %some.base = call i64 @relay_begin_entry(ptr %entries, ptr %some.case, i64 %n, i64 1, i64 %to)
  %no.some.base = icmp slt i64 %some.base, 0
  br i1 %no.some.base, label %give.up, label %some.fill
some.fill:
  %n.some = add i64 %n, 1
  %inside.record.at = getelementptr i64, ptr %some.case, i64 5
  %inside.record = load i64, ptr %inside.record.at
  %inside.place.at = getelementptr i64, ptr %some.case, i64 6
  %inside.place = load i64, ptr %inside.place.at
  %inside.offset = shl i64 %inside.place, 3
  %inside.to = add i64 %some.base, %inside.offset
  %inside.held = load i64, ptr %is.held
  %inside.fine = call i1 @relay_add_value(ptr %reading, ptr %object, i64 %inside.record,
                                          i64 %inside.to, i64 %inside.held)
  br i1 %inside.fine, label %some.inside, label %give.up
some.inside:
  store i64 0, ptr %is.held
  br label %next

; --- the end

finish:
  %all = load ptr, ptr %entries
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %words, ptr align 8 %all, i64 %words.bytes,
                                   i1 false)
  %buffer = getelementptr i8, ptr %all, i64 %words.bytes
  %buffer.to = getelementptr i64, ptr %request, i64 2
  store ptr %buffer, ptr %buffer.to
  %count.to = getelementptr i64, ptr %request, i64 3
  store i64 %n, ptr %count.to
  %held.used.at = getelementptr i8, ptr %held, i64 16
  %held.used = load i64, ptr %held.used.at
  %holds = icmp ne i64 %held.used, 0
  %answer = select i1 %holds, i32 $holds, i32 $read
  ret i32 %answer

give.up:
  %clear.at = getelementptr i8, ptr %api, i64 $at_pyerr_clear
  %clear = load ptr, ptr %clear.at
  call void %clear()
  %last.held = load i64, ptr %is.held
  %last.drop = icmp ne i64 %last.held, 0
  br i1 %last.drop, label %drop.last, label %drop.next
drop.last:
  %last = load ptr, ptr %current
  call void %drop(ptr %last)
  br label %drop.next
drop.next:
  %waiting = load i64, ptr %work.used
  %any.waits = icmp ne i64 %waiting, 0
  br i1 %any.waits, label %drop.take, label %gone
drop.take:
  %waiting.less = sub i64 %waiting, 32
  store i64 %waiting.less, ptr %work.used
  %waiting.memory = load ptr, ptr %work
  %waits = getelementptr i8, ptr %waiting.memory, i64 %waiting.less
  %waits.held.at = getelementptr i64, ptr %waits, i64 3
  %waits.held = load i64, ptr %waits.held.at
  %waits.drop = icmp ne i64 %waits.held, 0
  br i1 %waits.drop, label %drop.waiting, label %drop.next
drop.waiting:
  %waits.object = load ptr, ptr %waits
  call void %drop(ptr %waits.object)
  br label %drop.next
gone:
  call void @relay_end_reading(ptr %reading)
  ret i32 $gave_up
}

; What is read now stays alive until the end of the call, if this holds it.
define internal i1 @relay_keep(ptr %held, ptr %object, ptr %is.held) nounwind {
entry:
  %flag = load i64, ptr %is.held
  %own = icmp ne i64 %flag, 0
  br i1 %own, label %add, label %done
add:
  %room = call ptr @relay_room(ptr %held, i64 8)
  %none = icmp eq ptr %room, null
  br i1 %none, label %fail, label %keep
keep:
  store ptr %object, ptr %room
  store i64 0, ptr %is.held
  br label %done
done:
  ret i1 true
fail:
  ret i1 false
}

; Entries of a case, from number `n` on, without their words: the offset of the words of the first,
; or -1. The word that stands for it goes to `to`.
define internal i64 @relay_begin_entry(ptr %entries, ptr %case, i64 %n, i64 %count, i64 %to)
    nounwind {
entry:
  %tag.at = getelementptr i64, ptr %case, i64 1
  %tag = load i64, ptr %tag.at
  %objects.at = getelementptr i64, ptr %case, i64 2
  %objects = load i64, ptr %objects.at
  %words.at = getelementptr i64, ptr %case, i64 3
  %words = load i64, ptr %words.at
  %length = add i64 %words, 4
  %all = mul i64 %length, %count
  %bytes = shl i64 %all, 3
  %used.at = getelementptr i8, ptr %entries, i64 16
  %offset = load i64, ptr %used.at
  %room = call ptr @relay_room(ptr %entries, i64 %bytes)
  %none = icmp eq ptr %room, null
  br i1 %none, label %fail, label %name
name:
  %memory = load ptr, ptr %entries
  %word.at = getelementptr i8, ptr %memory, i64 %to
  %word = shl i64 %n, 1
  store i64 %word, ptr %word.at
  br label %next
next:
  %i = phi i64 [ 0, %name ], [ %i.next, %next ]
  %start = mul i64 %i, %length
  %head = getelementptr i64, ptr %room, i64 %start
  %number = add i64 %n, %i
  %index = shl i64 %number, 8
  %kind = or i64 %index, $entry_data
  store i64 %kind, ptr %head
  %tag.to = getelementptr i64, ptr %head, i64 1
  store i64 %tag, ptr %tag.to
  %objects.to = getelementptr i64, ptr %head, i64 2
  store i64 %objects, ptr %objects.to
  %words.to = getelementptr i64, ptr %head, i64 3
  store i64 %words, ptr %words.to
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
  br i1 %more, label %next, label %done
done:
  %base = add i64 %offset, 32
  ret i64 %base
fail:
  ret i64 -1
}

define void @relay_end_reading(ptr %reading) nounwind {
entry:
  %api = load ptr, ptr %reading
  %drop.at = getelementptr i8, ptr %api, i64 $at_py_decref
  %drop = load ptr, ptr %drop.at
  %held = getelementptr i8, ptr %reading, i64 $reading_held
  %used.at = getelementptr i8, ptr %held, i64 16
  br label %next
next:                                    ; the end of an object may run anything
  %used = load i64, ptr %used.at
  %any = icmp ne i64 %used, 0
  br i1 %any, label %take, label %done
take:
  %less = sub i64 %used, 8
  store i64 %less, ptr %used.at
  %memory = load ptr, ptr %held
  %object.at = getelementptr i8, ptr %memory, i64 %less
  %object = load ptr, ptr %object.at
  call void %drop(ptr %object)
  br label %next
done:
  call void @relay_empty(ptr %held)
  %count.at = getelementptr i8, ptr %reading, i64 $reading_slot_count
  %count = load i64, ptr %count.at
  %large = icmp ugt i64 %count, 524288   ; 16 MB, as of other buffers
  br i1 %large, label %shrink, label %out
shrink:
  call void @relay_drop_slots(ptr %reading)
  br label %out
out:
  ret void
}

define internal void @relay_drop_slots(ptr %reading) nounwind {
  %slots.at = getelementptr i8, ptr %reading, i64 $reading_slots
  %slots = load ptr, ptr %slots.at
  call void @free(ptr %slots)
  store ptr null, ptr %slots.at
  %count.at = getelementptr i8, ptr %reading, i64 $reading_slot_count
  store i64 0, ptr %count.at
  ret void
}

; The memory of a reading goes back to the system. Nothing is held by it.
define void @relay_close_reading(ptr %reading) nounwind {
  %entries = getelementptr i8, ptr %reading, i64 $reading_entries
  call void @relay_drop_buffer(ptr %entries)
  %work = getelementptr i8, ptr %reading, i64 $reading_work
  call void @relay_drop_buffer(ptr %work)
  %held = getelementptr i8, ptr %reading, i64 $reading_held
  call void @relay_drop_buffer(ptr %held)
  call void @relay_drop_slots(ptr %reading)
  ret void
}
""")
