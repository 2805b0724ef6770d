"""What goes wrong in an exported program, as a status and in words: functions in LLVM IR.

Values are checked when the program in C hands them over, against what is known of them
(`tables.py`); a run that ends early is explained by what it left in the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Final

from relay.native import layout
from relay.target.llvm.c.model import MESSAGES, string_text

# What the functions give besides the codes of `relay.target.llvm.c.model` and of the runtime.
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


FAILURES: Final = Template("""
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
    i32 $too_large, label %failed
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
  br i1 %known, label %say.unequal, label %other
say.unequal:                             ; the site's own formats, with a number each
  %found.at = getelementptr i8, ptr %model, i64 $detail_0
  %found = load i64, ptr %found.at
  %expected.at = getelementptr i8, ptr %model, i64 $detail_1
  %expected = load i64, ptr %expected.at
  %first.at = getelementptr ptr, ptr @relay_expecteds, i64 %number
  %first = load ptr, ptr %first.at
  %length.expected = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr %first, i64 %expected)
  %length.wide = zext i32 %length.expected to i64
  %room = sub i64 $message_size, %length.wide
  %fits = icmp sgt i64 %room, 1
  br i1 %fits, label %say.found, label %said
say.found:
  %rest = getelementptr i8, ptr %message, i64 %length.wide
  %second.at = getelementptr ptr, ptr @relay_founds, i64 %number
  %second = load ptr, ptr %second.at
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
""")
