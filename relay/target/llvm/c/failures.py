"""Errors of an exported program, as statuses and messages, in LLVM IR.

Arguments and fields are checked against the tables of `tables.py`; the message of a failed run is
made from the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from relay.native import layout
from relay.target.llvm.c.model import MESSAGES, string_text

# Statuses in addition to those of `relay.target.llvm.c.model` and the runtime.
WRONG_VALUE: Final = 7
PROGRAM_MESSAGES: Final = {
    **MESSAGES,
    WRONG_VALUE: "a value is not what the model takes",
    layout.STACK_OVERFLOW: "the model recurses deeper than its stack",
    layout.FAILED: "no clause of the model fits a value",
    layout.UNEQUAL: "a size is not what the model needs",
    layout.TOO_LARGE: "a tensor would be too large",
}

FORMATS: Final[Mapping[str, str]] = {
    "missing": "%s is NULL",
    "rank": "%s has %lld dimensions, not %lld",
    "size": "dimension %lld of %s is %lld, not %lld",
    "named": "dimension %lld of %s is %lld, but %s is %lld already",
    "shape": "a tensor cannot have %lld dimensions",
    "negative": "dimension %lld of a tensor is %lld",
    "elements": "a tensor of %lld bytes is made of NULL",
    "memory": "there is not enough memory for %s: %lld kB are in use",
    "stack": "%s recurses deeper than its stack of %lld kB",
    "range": "an index is out of range in %s: %lld of %lld",
    "text": "%s",
}


def formats_text() -> str:
    """The formats of all messages."""
    lines = [string_text(f"relay_format_{name}", text) for name, text in FORMATS.items()]
    return "\n".join(lines)


FAILURES: Final = """
define internal void @relay_set_status(ptr %model, i32 %status) nounwind {
  %wide = zext i32 %status to i64
  store i64 %wide, ptr %model[$status_at]
  ret void
}

; Set the status of an invalid value, whose message is set already.
define internal void @relay_wrong(ptr %model) nounwind {
  call void @relay_set_status(ptr %model, i32 $wrong_value)
  ret void
}

define internal void @relay_no_memory(ptr %model, ptr %who) noinline cold nounwind {
  call void @relay_set_status(ptr %model, i32 $out_of_memory)
  %message = getelementptr i8, ptr %model, i64 $message_at
  %taken = load i64, ptr %model[$heap_bytes]
  %kilobytes = lshr i64 %taken, 10
  %length = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_memory, ptr %who, i64 %kilobytes)
  ret void
}

; Check a value: 0, or a status.
define internal i32 @relay_check(ptr %model, ptr %value, ptr %part, ptr %bound) nounwind {
entry:
  %message = getelementptr i8, ptr %model, i64 $message_at
  %label = load ptr, ptr %part[8]
  br eq ptr %value, null, label %missing, label %there
missing:                                 ; keep the status of an earlier failure to allocate it
  %before = load i64, ptr %model[$status_at]
  br ne i64 %before, 0, label %earlier, label %say.missing
earlier:
  %status.before = trunc i64 %before to i32
  ret i32 %status.before
say.missing:
  %length.missing = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_missing, ptr %label)
  br label %wrong
there:
  %wanted = load i64, ptr %part
  br sge i64 %wanted, 0, label %tensor, label %fine
tensor:
  %rank.narrow = load i32, ptr %value[$detail]
  %rank = zext i32 %rank.narrow to i64
  br eq i64 %rank, %wanted, label %sizes, label %say.rank
say.rank:
  %length.rank = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_rank, ptr %label, i64 %rank, i64 %wanted)
  br label %wrong
sizes:
  %table = load ptr, ptr %part[16]
  %dims = getelementptr i8, ptr %value, i64 $tensor_dims
  br label %look
look:
  %axis = phi i64 [ 0, %sizes ], [ %axis.next, %next ]
  br ult i64 %axis, %rank, label %size, label %fine
size:
  %found = load i64, ptr %dims[i64 %axis]
  %expected = load i64, ptr %table[i64 %axis]
  br sge i64 %expected, 0, label %number, label %symbol
number:
  br eq i64 %found, %expected, label %next, label %say.size
say.size:
  %length.size = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_size, i64 %axis, ptr %label, i64 %found, i64 %expected)
  br label %wrong
symbol:
  br sle i64 %expected, $first_named, label %name, label %next
name:
  %which = sub i64 $first_named, %expected
  %bound.at = getelementptr i64, ptr %bound, i64 %which
  %before.size = load i64, ptr %bound.at
  br slt i64 %before.size, 0, label %bind, label %compare
bind:
  store i64 %found, ptr %bound.at
  br label %next
compare:
  br eq i64 %found, %before.size, label %next, label %say.named
say.named:
  %name.text = load ptr, ptr @relay_size_names[ptr %which]
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

; Set the message of a failed run.
define internal void @relay_explain(ptr %model, i32 %status) noinline cold nounwind {
entry:
  call void @relay_set_status(ptr %model, i32 %status)
  %message = getelementptr i8, ptr %model, i64 $message_at
  %number = load i64, ptr %model[$site]
  %known = icmp ult i64 %number, $site_count
  br i1 %known, label %find, label %explain
find:
  %text = load ptr, ptr @relay_sites[ptr %number]
  br label %explain
explain:
  %site = phi ptr [ @relay_inside, %entry ], [ %text, %find ]
  switch i32 %status, label %other [
    i32 $out_of_range, label %range
    i32 $out_of_memory, label %memory
    i32 $stack_overflow, label %stack
    i32 $unequal, label %unequal
    i32 $failed, label %failed
    i32 $too_large, label %failed
  ]
range:
  %index = load i64, ptr %model[$index]
  %extent = load i64, ptr %model[$extent]
  %length.range = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_range, ptr %site, i64 %index, i64 %extent)
  ret void
memory:
  call void @relay_no_memory(ptr %model, ptr %site)
  ret void
stack:
  %stack.bytes = load i64, ptr %model[$stack_size]
  %stack.kilobytes = lshr i64 %stack.bytes, 10
  %length.stack = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_stack, ptr %site, i64 %stack.kilobytes)
  ret void
unequal:
  br i1 %known, label %say.unequal, label %other
say.unequal:                             ; the formats of the site, with a number each
  %found = load i64, ptr %model[$detail_0]
  %expected = load i64, ptr %model[$detail_1]
  %first = load ptr, ptr @relay_expecteds[ptr %number]
  %length.expected = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr %first, i64 %expected)
  %length.wide = zext i32 %length.expected to i64
  %room = sub i64 $message_size, %length.wide
  br sgt i64 %room, 1, label %say.found, label %said
say.found:
  %rest = getelementptr i8, ptr %message, i64 %length.wide
  %second = load ptr, ptr @relay_founds[ptr %number]
  %length.found = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %rest, i64 %room,
      ptr %second, i64 %found)
  br label %said
said:
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
"""
