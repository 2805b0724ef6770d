"""The text of a whole program as a C library: the functions of its header in LLVM IR.

What `create` makes is one block of memory:

       0  the context          of programs (`relay.native.layout`)
    2048  loaded weights       a block of their own; null when they are inside the library
    2056  holds                how many values the program in C has to release yet
    2064  failed               not 0 when a run has failed and something is held since
    2072  status               what went wrong last
    2080  watch                i32 (ptr model), or null: not 0 ends a run
    2088  message              what went wrong, in words
    2560  constants            their addresses, and the objects themselves

Values are objects of the context's heap, and words of the program in C are object words. When it
holds nothing any longer, the heap is emptied (`relay_end`): cells that hold each other go then, and
what a run that failed has left behind, whose holds nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template
from typing import Final

from relay.executors.c_model import MESSAGES, string_text
from relay.executors.c_types import CConstructor, CTypes, Place
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.program.llvm.words import is_object
from relay.program.native import Site
from relay.program.plan import ALIGNMENT
from relay.target import abi

# What the functions give besides the codes of `relay.executors.c_model` and of the runtime.
WRONG_VALUE: Final = 7
PROGRAM_MESSAGES: Final = {
    **MESSAGES,
    WRONG_VALUE: "a value is not what the model takes",
    layout.STACK_OVERFLOW: "the model recurses deeper than its stack",
    layout.FAILED: "no clause of the model fits a value",
    layout.UNEQUAL: "a size is not what the model needs",
}

LOADED: Final = layout.PROGRAM_CONTEXT_SIZE
HOLDS: Final = LOADED + 8
FAILED: Final = HOLDS + 8
STATUS: Final = FAILED + 8
WATCH: Final = STATUS + 8
MESSAGE: Final = WATCH + 8
CONSTANTS: Final = LOADED + 512
MESSAGE_SIZE: Final = CONSTANTS - MESSAGE

IMPORTS: Final = frozenset({"snprintf"})

MOST_DIMENSIONS: Final = 64

# Of a part of a value, instead of the number of its dimensions.
NO_TENSOR: Final = -1
NO_OBJECT: Final = -2
# Of a dimension, instead of its size; those that have a name are counted down from the second.
ANY_SIZE: Final = -1
FIRST_NAMED: Final = -2


def functions_text(types: CTypes, entry: str, sites: Sequence[Site], constants: Constants) -> str:
    """The functions of a header but `create`, `destroy` and `error`. `entry` runs the program."""
    sizes = _Sizes()
    tables = [
        _parts_text("relay_arguments", [(f"argument `{p.name}`", p) for p in types.params], sizes),
        _constructors_text(types.constructors, sizes),
        _bytes_text("relay_results", [is_object(place.spec) for place in types.results]),
        _sites_text(sites),
        sizes.text(),
        constants.text(),
    ]
    functions = _FUNCTIONS.substitute(
        layout.numbers(),
        name=types.model,
        entry=entry,
        arguments=len(types.params),
        argument_room=max(1, len(types.params)),
        result_count=len(types.results),
        result_bytes=8 * len(types.results),
        site_count=len(sites),
        names=max(1, len(sizes.names)),
        name_bytes=8 * max(1, len(sizes.names)),
        constant_count=len(constants),
        constant_bytes=8 * len(constants.words),
        constants_at=CONSTANTS,
        size=model_size(constants),
        holds_at=HOLDS,
        failed_at=FAILED,
        status_at=STATUS,
        watch_at=WATCH,
        message_at=MESSAGE,
        message_size=MESSAGE_SIZE,
        most_dimensions=MOST_DIMENSIONS,
        part_type=_PART,
        constructor_type=_CONSTRUCTOR,
        no_object=NO_OBJECT,
        first_named=FIRST_NAMED,
        wrong_value=WRONG_VALUE,
        index=abi.DETAILS[1],
        extent=abi.DETAILS[2],
        detail_0=abi.DETAILS[0],
        detail_1=abi.DETAILS[1],
        out_of_range=abi.OUT_OF_RANGE,
        out_of_memory=abi.OUT_OF_MEMORY,
    )
    formats = [string_text(f"relay_format_{name}", text) for name, text in _FORMATS.items()]
    return "\n".join([*tables, *formats, functions])


def model_size(constants: Constants) -> int:
    """How much memory a model takes."""
    return CONSTANTS + 8 * len(constants.words) + ALIGNMENT


class Constants:
    """The constants of a program as objects, before anybody knows where they will be.

    First their places, then the objects, all counted from where this begins; the elements are
    counted from where the weights begin.
    """

    def __init__(self, constants: Sequence[tuple[int, tuple[int, ...], int]]) -> None:
        """Offset among the weights, shape, and bytes of each."""
        self._count = len(constants)
        self.words: list[int] = [0] * (-(-self._count // 8) * 8)
        for number, (offset, shape, size) in enumerate(constants):
            self.words[number] = 8 * len(self.words)
            rank = len(shape)
            fields = [layout.IMMORTAL, rank << 32 | layout.TENSOR, offset, layout.EXTERNAL, size]
            fields += shape
            self.words += fields + [0] * (-len(fields) % 8)

    def __len__(self) -> int:
        return self._count

    def text(self) -> str:
        return _words_text("relay_constants", self.words)


# --- tables -------------------------------------------------------------------------------------


class _Sizes:
    """The sizes of tensors, in tables that are there once."""

    def __init__(self) -> None:
        self.names: list[str] = []  # of sizes that are equal wherever they stand
        self._tables: dict[tuple[int, ...], str] = {}

    def of(self, spec: TensorSpec) -> str:
        """The table of a type."""
        numbers = tuple(self._size(size) for size in spec.shape)
        return self._tables.setdefault(numbers, f"relay_sizes_{len(self._tables)}")

    def _size(self, size: int | str) -> int:
        if isinstance(size, int):
            return size
        if size == "?":
            return ANY_SIZE
        if size not in self.names:
            self.names.append(size)
        return FIRST_NAMED - self.names.index(size)

    def text(self) -> str:
        tables = [_words_text(name, numbers) for numbers, name in self._tables.items()]
        return "\n".join([*tables, _strings_text("relay_size_name", self.names)])


def _parts_text(name: str, parts: Sequence[tuple[str, Place]], sizes: _Sizes) -> str:
    """What is known of values: how many dimensions, what they are called, sizes."""
    lines, entries = [], []
    for number, (label, place) in enumerate(parts):
        spec = place.spec
        rank = NO_TENSOR if is_object(spec) else NO_OBJECT
        table = "null"
        if isinstance(spec, TensorSpec):
            rank = len(spec.shape)
            table = f"@{sizes.of(spec)}"
        lines.append(string_text(f"{name}_label_{number}", label))
        fields = f"i64 {rank}, ptr @{name}_label_{number}, ptr {table}"
        entries.append(f"{_PART} {{ {fields} }}")
    return "\n".join([*lines, _array_text(name, _PART, entries)])


def _constructors_text(constructors: Sequence[CConstructor], sizes: _Sizes) -> str:
    lines, entries = [], []
    for one in constructors:
        parts = [
            (f"field {one.places.index(place)} of `{one.text.partition('(')[0]}`", place)
            for place in one.objects
        ]
        table = f"relay_parts_{one.number}"
        lines.append(_parts_text(table, parts, sizes))
        fields = [one.kind, one.tag, len(parts), len(one.places)]
        numbers = ", ".join(f"i32 {number}" for number in fields)
        entries.append(f"{_CONSTRUCTOR} {{ {numbers}, ptr @{table} }}")
    return "\n".join([*lines, _array_text("relay_constructors", _CONSTRUCTOR, entries)])


def _sites_text(sites: Sequence[Site]) -> str:
    return _strings_text("relay_site", [_site(site) for site in sites])


def _site(site: Site) -> str:
    what = f"kernel `{site.kernel}`" if site.kernel else site.message or "the model"
    return f"{what} in {site.where}" if site.where else what


def _strings_text(name: str, strings: Sequence[str]) -> str:
    """`name` is a table of strings."""
    lines = [string_text(f"{name}_{number}", text) for number, text in enumerate(strings)]
    entries = [f"ptr @{name}_{number}" for number in range(len(strings))]
    return "\n".join([*lines, _array_text(f"{name}s", "ptr", entries)])


def _words_text(name: str, numbers: Sequence[int]) -> str:
    return _array_text(name, "i64", [f"i64 {number}" for number in numbers])


def _bytes_text(name: str, flags: Sequence[bool]) -> str:
    return _array_text(name, "i8", [f"i8 {int(flag)}" for flag in flags])


def _array_text(name: str, kind: str, entries: Sequence[str]) -> str:
    body = f"[{', '.join(entries)}]" if entries else "zeroinitializer"
    return f"@{name} = internal constant [{len(entries)} x {kind}] {body}\n"


_PART: Final = "{ i64, ptr, ptr }"
_CONSTRUCTOR: Final = "{ i32, i32, i32, i32, ptr }"

_FORMATS: Final[Mapping[str, str]] = {
    "missing": "%s is NULL",
    "rank": "%s has %lld dimensions, not %lld",
    "size": "dimension %lld of %s is %lld, not %lld",
    "named": "dimension %lld of %s is %lld, but %s is %lld already",
    "shape": "a tensor cannot have %lld dimensions",
    "negative": "dimension %lld of a tensor is %lld",
    "elements": "a tensor of %lld bytes is made of NULL",
    "memory": "there is not enough memory for %s: %lld kB are in use",
    "stack": "%s recurses deeper than its stack of %lld kB",
    "unequal": "%s: expected %lld, found %lld",
    "range": "an index is out of range in %s: %lld of %lld",
    "text": "%s",
}

# --- functions ----------------------------------------------------------------------------------

_FUNCTIONS: Final = Template("""
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i32 @$entry(ptr, ptr, ptr)
declare ptr @relay_new_tensor(ptr, i64, i64)
declare ptr @relay_new_object(ptr, i32, i32, i32, i32)
declare void @relay_retain_object(ptr)
declare void @relay_release_object(ptr, ptr)
declare i32 @relay_enter(ptr, ptr, ptr, ptr)
declare void @relay_end(ptr)
declare void @relay_reset(ptr)
declare void @relay_close(ptr)
declare void @relay_close_stack(ptr)

@relay_outside = internal constant [11 x i8] c"the caller\\00"
@relay_inside = internal constant [10 x i8] c"the model\\00"

; --- a model

define internal void @relay_set_up(ptr %model, ptr %weights) nounwind {
entry:
  call void @llvm.memset.p0.i64(ptr align 64 %model, i8 0, i64 $size, i1 false)
  %constants = getelementptr i8, ptr %model, i64 $constants_at
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %constants, ptr @relay_constants,
                                   i64 $constant_bytes, i1 false)
  %constants.to = getelementptr i8, ptr %model, i64 $constants
  store ptr %constants, ptr %constants.to
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %place ]
  %left = icmp ult i64 %i, $constant_count
  br i1 %left, label %place, label %done
place:
  %at = getelementptr i64, ptr %constants, i64 %i
  %offset = load i64, ptr %at
  %object = getelementptr i8, ptr %constants, i64 %offset
  store ptr %object, ptr %at
  %data.at = getelementptr i8, ptr %object, i64 $tensor_data
  %data.offset = load i64, ptr %data.at
  %data = getelementptr i8, ptr %weights, i64 %data.offset
  store ptr %data, ptr %data.at
  %next = add i64 %i, 1
  br label %look
done:
  ret void
}

define internal void @relay_tear_down(ptr %model) nounwind {
  call void @relay_close(ptr %model)
  ret void
}

define void @${name}_set_threads(ptr %model, i32 %threads) nounwind {
  call void @relay_use_threads(ptr %model, i32 %threads)
  ret void
}

define void @${name}_set_stack(ptr %model, i64 %bytes) nounwind {
  call void @relay_close_stack(ptr %model)
  %size.at = getelementptr i8, ptr %model, i64 $stack_size
  store i64 %bytes, ptr %size.at
  ret void
}

define void @${name}_set_memory(ptr %model, i64 %bytes) nounwind {
entry:
  %limit.at = getelementptr i8, ptr %model, i64 $limit
  store i64 %bytes, ptr %limit.at
  %holds.at = getelementptr i8, ptr %model, i64 $holds_at
  %holds = load i64, ptr %holds.at
  %none = icmp eq i64 %holds, 0
  br i1 %none, label %begin.anew, label %done
begin.anew:                              ; what was kept for later may be more than the limit
  call void @relay_close(ptr %model)
  br label %done
done:
  ret void
}

define void @${name}_set_watch(ptr %model, ptr %watch) nounwind {
  %watch.at = getelementptr i8, ptr %model, i64 $watch_at
  store ptr %watch, ptr %watch.at
  %none = icmp eq ptr %watch, null
  %look = select i1 %none, ptr null, ptr @relay_look
  %callback.at = getelementptr i8, ptr %model, i64 $callback
  store ptr %look, ptr %callback.at
  ret void
}

; What the runtime calls from time to time.
define internal i32 @relay_look(ptr %model, ptr %0, ptr %1) nounwind {
  %watch.at = getelementptr i8, ptr %model, i64 $watch_at
  %watch = load ptr, ptr %watch.at
  %answer = call i32 %watch(ptr %model)
  ret i32 %answer
}

define ptr @${name}_message(ptr %model) nounwind {
  %message = getelementptr i8, ptr %model, i64 $message_at
  ret ptr %message
}

define i64 @${name}_live(ptr %model) nounwind {
  %made.at = getelementptr i8, ptr %model, i64 $made
  %made = load i64, ptr %made.at
  %freed.at = getelementptr i8, ptr %model, i64 $freed
  %freed = load i64, ptr %freed.at
  %live = sub i64 %made, %freed
  ret i64 %live
}

; --- holds

; So many more values are the caller's. With none, nothing is left.
define internal void @relay_count_holds(ptr %model, i64 %more) nounwind {
entry:
  %holds.at = getelementptr i8, ptr %model, i64 $holds_at
  %holds = load i64, ptr %holds.at
  %sum = add i64 %holds, %more
  store i64 %sum, ptr %holds.at
  %none = icmp eq i64 %sum, 0
  br i1 %none, label %empty, label %done
empty:
  %failed.at = getelementptr i8, ptr %model, i64 $failed_at
  %failed = load i64, ptr %failed.at
  %clean = icmp eq i64 %failed, 0
  br i1 %clean, label %end, label %reset
reset:                                   ; what a run that failed has left may not be complete
  store i64 0, ptr %failed.at
  call void @relay_reset(ptr %model)
  br label %end
end:
  call void @relay_end(ptr %model)
  br label %done
done:
  ret void
}

; Whether a word is the address of an object.
define internal i1 @relay_is_object(ptr %value) alwaysinline nounwind {
  %number = ptrtoint ptr %value to i64
  %odd = trunc i64 %number to i1
  %none = icmp eq ptr %value, null
  %neither = or i1 %odd, %none
  %object = xor i1 %neither, true
  ret i1 %object
}

define ptr @${name}_hold(ptr %model, ptr %value) nounwind {
entry:
  %object = call i1 @relay_is_object(ptr %value)
  br i1 %object, label %hold, label %done
hold:
  call void @relay_retain_object(ptr %value)
  call void @relay_count_holds(ptr %model, i64 1)
  br label %done
done:
  ret ptr %value
}

define void @${name}_release(ptr %model, ptr %value) nounwind {
entry:
  %object = call i1 @relay_is_object(ptr %value)
  br i1 %object, label %release, label %done
release:
  call void @relay_release_object(ptr %model, ptr %value)
  call void @relay_count_holds(ptr %model, i64 -1)
  br label %done
done:
  ret void
}

; --- what is wrong

define internal void @relay_set_status(ptr %model, i32 %status) nounwind {
  %at = getelementptr i8, ptr %model, i64 $status_at
  %wide = zext i32 %status to i64
  store i64 %wide, ptr %at
  ret void
}

; A status whose message is there already.
define internal void @relay_wrong(ptr %model) nounwind {
  call void @relay_set_status(ptr %model, i32 $wrong_value)
  ret void
}

define internal void @relay_no_memory(ptr %model, ptr %who) noinline cold nounwind {
  call void @relay_set_status(ptr %model, i32 $out_of_memory)
  %message = getelementptr i8, ptr %model, i64 $message_at
  %taken.at = getelementptr i8, ptr %model, i64 $heap_bytes
  %taken = load i64, ptr %taken.at
  %kilobytes = lshr i64 %taken, 10
  %length = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_memory, ptr %who, i64 %kilobytes)
  ret void
}

; 0 if a value fits what is known of it, or a status.
define internal i32 @relay_check(ptr %model, ptr %value, ptr %part, ptr %bound) nounwind {
entry:
  %message = getelementptr i8, ptr %model, i64 $message_at
  %label.at = getelementptr i8, ptr %part, i64 8
  %label = load ptr, ptr %label.at
  %none = icmp eq ptr %value, null
  br i1 %none, label %missing, label %there
missing:                                 ; most likely it could not be made: that is told
  %status.at = getelementptr i8, ptr %model, i64 $status_at
  %before = load i64, ptr %status.at
  %known = icmp ne i64 %before, 0
  br i1 %known, label %earlier, label %say.missing
earlier:
  %status.before = trunc i64 %before to i32
  ret i32 %status.before
say.missing:
  %length.missing = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_missing, ptr %label)
  br label %wrong
there:
  %wanted = load i64, ptr %part
  %is.tensor = icmp sge i64 %wanted, 0
  br i1 %is.tensor, label %tensor, label %fine
tensor:
  %rank.at = getelementptr i8, ptr %value, i64 $detail
  %rank.narrow = load i32, ptr %rank.at
  %rank = zext i32 %rank.narrow to i64
  %same.rank = icmp eq i64 %rank, %wanted
  br i1 %same.rank, label %sizes, label %say.rank
say.rank:
  %length.rank = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_rank, ptr %label, i64 %rank, i64 %wanted)
  br label %wrong
sizes:
  %table.at = getelementptr i8, ptr %part, i64 16
  %table = load ptr, ptr %table.at
  %dims = getelementptr i8, ptr %value, i64 $tensor_dims
  br label %look
look:
  %axis = phi i64 [ 0, %sizes ], [ %axis.next, %next ]
  %left = icmp ult i64 %axis, %rank
  br i1 %left, label %size, label %fine
size:
  %size.at = getelementptr i64, ptr %dims, i64 %axis
  %found = load i64, ptr %size.at
  %expected.at = getelementptr i64, ptr %table, i64 %axis
  %expected = load i64, ptr %expected.at
  %is.number = icmp sge i64 %expected, 0
  br i1 %is.number, label %number, label %symbol
number:
  %same = icmp eq i64 %found, %expected
  br i1 %same, label %next, label %say.size
say.size:
  %length.size = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_size, i64 %axis, ptr %label, i64 %found, i64 %expected)
  br label %wrong
symbol:
  %named = icmp sle i64 %expected, $first_named
  br i1 %named, label %name, label %next
name:
  %which = sub i64 $first_named, %expected
  %bound.at = getelementptr i64, ptr %bound, i64 %which
  %before.size = load i64, ptr %bound.at
  %unbound = icmp slt i64 %before.size, 0
  br i1 %unbound, label %bind, label %compare
bind:
  store i64 %found, ptr %bound.at
  br label %next
compare:
  %agree = icmp eq i64 %found, %before.size
  br i1 %agree, label %next, label %say.named
say.named:
  %name.at = getelementptr ptr, ptr @relay_size_names, i64 %which
  %name.text = load ptr, ptr %name.at
  %length.named = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_named, i64 %axis, ptr %label, i64 %found, ptr %name.text,
      i64 %before.size)
  br label %wrong
next:
  %axis.next = add i64 %axis, 1
  br label %look
fine:
  ret i32 0
wrong:
  call void @relay_wrong(ptr %model)
  ret i32 $wrong_value
}

; Why a run ended, in words.
define internal void @relay_explain(ptr %model, i32 %status) noinline cold nounwind {
entry:
  call void @relay_set_status(ptr %model, i32 %status)
  %message = getelementptr i8, ptr %model, i64 $message_at
  %site.at = getelementptr i8, ptr %model, i64 $site
  %number = load i64, ptr %site.at
  %known = icmp ult i64 %number, $site_count
  br i1 %known, label %find, label %explain
find:
  %text.at = getelementptr ptr, ptr @relay_sites, i64 %number
  %text = load ptr, ptr %text.at
  br label %explain
explain:
  %site = phi ptr [ @relay_inside, %entry ], [ %text, %find ]
  switch i32 %status, label %other [
    i32 $out_of_range, label %range
    i32 $out_of_memory, label %memory
    i32 $stack_overflow, label %stack
    i32 $unequal, label %unequal
    i32 $failed, label %failed
  ]
range:
  %index.at = getelementptr i8, ptr %model, i64 $index
  %index = load i64, ptr %index.at
  %extent.at = getelementptr i8, ptr %model, i64 $extent
  %extent = load i64, ptr %extent.at
  %length.range = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_range, ptr %site, i64 %index, i64 %extent)
  ret void
memory:
  call void @relay_no_memory(ptr %model, ptr %site)
  ret void
stack:
  %stack.at = getelementptr i8, ptr %model, i64 $stack_size
  %stack.bytes = load i64, ptr %stack.at
  %stack.kilobytes = lshr i64 %stack.bytes, 10
  %length.stack = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_stack, ptr %site, i64 %stack.kilobytes)
  ret void
unequal:
  %found.at = getelementptr i8, ptr %model, i64 $detail_0
  %found = load i64, ptr %found.at
  %expected.at = getelementptr i8, ptr %model, i64 $detail_1
  %expected = load i64, ptr %expected.at
  %length.unequal = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_unequal, ptr %site, i64 %expected, i64 %found)
  ret void
failed:
  %length.failed = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_text, ptr %site)
  ret void
other:
  %meaning = call ptr @${name}_error(i32 %status)
  %length.other = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_text, ptr %meaning)
  ret void
}

; --- values are made

define ptr @${name}_tensor(ptr %model, ptr %data, i64 %item, i32 %rank.given, ptr %sizes,
                           i32 %copied) nounwind {
entry:
  %message = getelementptr i8, ptr %model, i64 $message_at
  %rank = sext i32 %rank.given to i64
  %lower = sub i64 %rank, 1
  %possible = icmp ult i64 %lower, $most_dimensions
  br i1 %possible, label %look, label %say.shape
say.shape:
  %length.shape = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_shape, i64 %rank)
  br label %wrong
look:
  %axis = phi i64 [ 0, %entry ], [ %axis.next, %multiply ]
  %bytes = phi i64 [ %item, %entry ], [ %product, %multiply ]
  %left = icmp ult i64 %axis, %rank
  br i1 %left, label %size, label %made.of
size:
  %size.at = getelementptr i64, ptr %sizes, i64 %axis
  %size.here = load i64, ptr %size.at
  %negative = icmp slt i64 %size.here, 0
  br i1 %negative, label %say.negative, label %multiply
say.negative:
  %length.negative = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_negative, i64 %axis, i64 %size.here)
  br label %wrong
multiply:
  %product = mul i64 %bytes, %size.here
  %axis.next = add i64 %axis, 1
  br label %look
made.of:
  %no.data = icmp eq ptr %data, null
  %some = icmp ne i64 %bytes, 0
  %empty.handed = and i1 %no.data, %some
  br i1 %empty.handed, label %say.elements, label %make
say.elements:
  %length.elements = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_elements, i64 %bytes)
  br label %wrong
make:
  %own = icmp ne i32 %copied, 0
  %room = select i1 %own, i64 %bytes, i64 0
  %tensor = call ptr @relay_new_tensor(ptr %model, i64 %rank, i64 %room)
  %none = icmp eq ptr %tensor, null
  br i1 %none, label %no.memory, label %fill
fill:
  %dims = getelementptr i8, ptr %tensor, i64 $tensor_dims
  %dims.bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %dims, ptr align 8 %sizes, i64 %dims.bytes,
                                   i1 false)
  %data.at = getelementptr i8, ptr %tensor, i64 $tensor_data
  br i1 %own, label %copy, label %borrow
copy:
  %to = load ptr, ptr %data.at
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %to, ptr %data, i64 %bytes, i1 false)
  br label %done
borrow:
  store ptr %data, ptr %data.at
  %owner.at = getelementptr i8, ptr %tensor, i64 $tensor_owner
  store i64 $external, ptr %owner.at
  %bytes.at = getelementptr i8, ptr %tensor, i64 $tensor_bytes
  store i64 %bytes, ptr %bytes.at
  br label %done
done:
  call void @relay_count_holds(ptr %model, i64 1)
  ret ptr %tensor
no.memory:
  call void @relay_no_memory(ptr %model, ptr @relay_outside)
  ret ptr null
wrong:
  call void @relay_wrong(ptr %model)
  ret ptr null
}

define ptr @${name}_make(ptr %model, i32 %number, ptr %words) nounwind {
entry:
  %one = getelementptr $constructor_type, ptr @relay_constructors, i32 %number
  %kind = load i32, ptr %one
  %tag.at = getelementptr i32, ptr %one, i64 1
  %tag = load i32, ptr %tag.at
  %objects.at = getelementptr i32, ptr %one, i64 2
  %objects = load i32, ptr %objects.at
  %count.at = getelementptr i32, ptr %one, i64 3
  %count = load i32, ptr %count.at
  %parts.at = getelementptr i8, ptr %one, i64 16
  %parts = load ptr, ptr %parts.at
  %bound = alloca [$names x i64]
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %i.next, %checked ]
  %held = phi i64 [ 0, %entry ], [ %held.more, %checked ]
  %left = icmp ult i32 %i, %objects
  br i1 %left, label %check, label %make
check:
  %word.at = getelementptr ptr, ptr %words, i32 %i
  %word = load ptr, ptr %word.at
  %part = getelementptr $part_type, ptr %parts, i32 %i
  %status = call i32 @relay_check(ptr %model, ptr %word, ptr %part, ptr %bound)
  %fits = icmp eq i32 %status, 0
  br i1 %fits, label %checked, label %drop
checked:
  %is.object = call i1 @relay_is_object(ptr %word)
  %one.more = zext i1 %is.object to i64
  %held.more = add i64 %held, %one.more
  %i.next = add i32 %i, 1
  br label %look
make:
  %object = call ptr @relay_new_object(ptr %model, i32 %kind, i32 %tag, i32 %objects, i32 %count)
  %none = icmp eq ptr %object, null
  br i1 %none, label %no.memory, label %fill
fill:
  %places = call ptr @relay_words_of(ptr %object, i32 %kind)
  %count.wide = zext i32 %count to i64
  %bytes = shl i64 %count.wide, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %places, ptr align 8 %words, i64 %bytes, i1 false)
  %more = sub i64 1, %held               ; the fields are held by the object now
  call void @relay_count_holds(ptr %model, i64 %more)
  ret ptr %object
no.memory:
  call void @relay_no_memory(ptr %model, ptr @relay_outside)
  br label %drop
drop:                                    ; the fields are no longer the caller's in any case
  %d = phi i32 [ 0, %check ], [ 0, %no.memory ], [ %d.next, %drop.one ]
  %drop.left = icmp ult i32 %d, %objects
  br i1 %drop.left, label %drop.one, label %fail
drop.one:
  %dropped.at = getelementptr ptr, ptr %words, i32 %d
  %dropped = load ptr, ptr %dropped.at
  call void @${name}_release(ptr %model, ptr %dropped)
  %d.next = add i32 %d, 1
  br label %drop
fail:
  ret ptr null
}

; --- values are looked at

; The words of an object begin 8 bytes further on from kind to kind.
define internal ptr @relay_words_of(ptr %object, i32 %kind) alwaysinline nounwind {
  %wide = zext i32 %kind to i64
  %more = shl i64 %wide, 3
  %offset = add i64 %more, 16
  %words = getelementptr i8, ptr %object, i64 %offset
  ret ptr %words
}

define i32 @${name}_tag(ptr %value) nounwind {
entry:
  %object = call i1 @relay_is_object(ptr %value)
  br i1 %object, label %read, label %number
read:
  %tag.at = getelementptr i8, ptr %value, i64 $detail
  %tag = load i32, ptr %tag.at
  ret i32 %tag
number:
  %word = ptrtoint ptr %value to i64
  %half = ashr i64 %word, 1
  %immediate = trunc i64 %half to i32
  %none = icmp eq ptr %value, null
  %result = select i1 %none, i32 -1, i32 %immediate
  ret i32 %result
}

define i64 @${name}_field(ptr %value, i32 %number, i32 %word) nounwind {
entry:
  %object = call i1 @relay_is_object(ptr %value)
  br i1 %object, label %look, label %none
look:
  %one = getelementptr $constructor_type, ptr @relay_constructors, i32 %number
  %kind = load i32, ptr %one
  %wanted.at = getelementptr i32, ptr %one, i64 1
  %wanted = load i32, ptr %wanted.at
  %tag.at = getelementptr i8, ptr %value, i64 $detail
  %tag = load i32, ptr %tag.at
  %same = icmp eq i32 %tag, %wanted
  br i1 %same, label %read, label %none
read:
  %words = call ptr @relay_words_of(ptr %value, i32 %kind)
  %at = getelementptr i64, ptr %words, i32 %word
  %found = load i64, ptr %at
  ret i64 %found
none:
  ret i64 0
}

define i32 @${name}_rank(ptr %tensor) nounwind {
  %rank.at = getelementptr i8, ptr %tensor, i64 $detail
  %rank = load i32, ptr %rank.at
  ret i32 %rank
}

define ptr @${name}_sizes(ptr %tensor) nounwind {
  %dims = getelementptr i8, ptr %tensor, i64 $tensor_dims
  ret ptr %dims
}

define ptr @${name}_elements(ptr %tensor) nounwind {
  %data.at = getelementptr i8, ptr %tensor, i64 $tensor_data
  %data = load ptr, ptr %data.at
  ret ptr %data
}

; --- running

define i32 @${name}_invoke(ptr %model, ptr %arguments, ptr %results) nounwind {
entry:
  %given = alloca [$argument_room x i64]
  %bound = alloca [$names x i64]
  call void @llvm.memset.p0.i64(ptr %bound, i8 -1, i64 $name_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr align 8 %results, i8 0, i64 $result_bytes, i1 false)
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fits ]
  %left = icmp ult i64 %i, $arguments
  br i1 %left, label %read, label %begin
read:
  %from = getelementptr i64, ptr %arguments, i64 %i
  %word = load i64, ptr %from
  %to = getelementptr i64, ptr %given, i64 %i
  store i64 %word, ptr %to
  %part = getelementptr $part_type, ptr @relay_arguments, i64 %i
  %known = load i64, ptr %part
  %scalar = icmp eq i64 %known, $no_object
  br i1 %scalar, label %fits, label %check
check:
  %value = inttoptr i64 %word to ptr
  %checked = call i32 @relay_check(ptr %model, ptr %value, ptr %part, ptr %bound)
  %fine = icmp eq i32 %checked, 0
  br i1 %fine, label %fits, label %refused
refused:
  ret i32 %checked
fits:
  %i.next = add i64 %i, 1
  br label %look

begin:                                   ; the program gets holds of its own
  call void @relay_set_status(ptr %model, i32 0)
  %message = getelementptr i8, ptr %model, i64 $message_at
  store i8 0, ptr %message
  br label %hold.look
hold.look:
  %h = phi i64 [ 0, %begin ], [ %h.next, %hold.next ]
  %hold.left = icmp ult i64 %h, $arguments
  br i1 %hold.left, label %hold.read, label %run
hold.read:
  %hold.part = getelementptr $part_type, ptr @relay_arguments, i64 %h
  %hold.known = load i64, ptr %hold.part
  %hold.scalar = icmp eq i64 %hold.known, $no_object
  br i1 %hold.scalar, label %hold.next, label %hold.look.at
hold.look.at:
  %hold.at = getelementptr ptr, ptr %given, i64 %h
  %hold.value = load ptr, ptr %hold.at
  %hold.object = call i1 @relay_is_object(ptr %hold.value)
  br i1 %hold.object, label %hold, label %hold.next
hold:
  call void @relay_retain_object(ptr %hold.value)
  br label %hold.next
hold.next:
  %h.next = add i64 %h, 1
  br label %hold.look

run:
  %site.at = getelementptr i8, ptr %model, i64 $site
  store i64 -1, ptr %site.at             ; not in the program
  %status = call i32 @relay_enter(ptr %model, ptr @$entry, ptr %given, ptr %results)
  %ended = icmp eq i32 %status, 0
  br i1 %ended, label %result.look, label %failed
failed:
  %failed.at = getelementptr i8, ptr %model, i64 $failed_at
  store i64 1, ptr %failed.at
  call void @relay_explain(ptr %model, i32 %status)
  call void @llvm.memset.p0.i64(ptr align 8 %results, i8 0, i64 $result_bytes, i1 false)
  call void @relay_count_holds(ptr %model, i64 0)
  ret i32 %status

result.look:
  %r = phi i64 [ 0, %run ], [ %r.next, %result.next ]
  %more = phi i64 [ 0, %run ], [ %more.next, %result.next ]
  %result.left = icmp ult i64 %r, $result_count
  br i1 %result.left, label %result, label %done
result:
  %kind.at = getelementptr i8, ptr @relay_results, i64 %r
  %kind = load i8, ptr %kind.at
  %may.be = icmp ne i8 %kind, 0
  %result.at = getelementptr ptr, ptr %results, i64 %r
  %result.value = load ptr, ptr %result.at
  %is.object = call i1 @relay_is_object(ptr %result.value)
  %both = and i1 %may.be, %is.object
  br label %result.next
result.next:
  %one = zext i1 %both to i64
  %more.next = add i64 %more, %one
  %r.next = add i64 %r, 1
  br label %result.look
done:
  call void @relay_count_holds(ptr %model, i64 %more)
  ret i32 0
}
""")
