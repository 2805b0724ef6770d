"""Numbers and arrays of Python's: blocks of the walk over values (`python_walk.py`)."""

from __future__ import annotations

from string import Template
from typing import Final

LEAVES: Final = Template("""
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
""")
