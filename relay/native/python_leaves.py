"""Reads Python numbers and NumPy arrays: basic blocks of `relay_read` (`python_walk.py`)."""

from __future__ import annotations

from typing import Final

LEAVES: Final = """
; --- scalars

a.boolean:
  br eq ptr %object, %true, label %put, label %perhaps.false
perhaps.false:
  br eq ptr %object, %false, label %put, label %give.up
an.integer:
  br eq ptr %type, %int.type, label %read.integer, label %give.up
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
  br eq ptr %type, %float.type, label %read.float, label %perhaps.whole
read.float:
  %as.float = call double %real(ptr %object)
  br label %have.float
perhaps.whole:
  br eq ptr %type, %int.type, label %read.whole, label %give.up
read.whole:
  %whole = call i64 %integer(ptr %object, ptr %overflow)
  %whole.too.large = load i32, ptr %overflow
  br eq i32 %whole.too.large, 0, label %convert.whole, label %give.up
convert.whole:
  %as.whole = sitofp i64 %whole to double
  br label %have.float
have.float:
  %float = phi double [ %as.float, %read.float ], [ %as.whole, %convert.whole ]
  br eq i64 %kind, $double, label %a.double, label %a.single
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
  br eq ptr %type, %array.type, label %tensor.find, label %give.up
tensor.find:
  %tensor.slot = call ptr @relay_seen(ptr %reading, i64 %address, i64 %record)
  br eq ptr %tensor.slot, null, label %give.up, label %tensor.look
tensor.look:
  %tensor.word.seen = load i64, ptr %tensor.slot
  br ne i64 %tensor.word.seen, -1, label %put, label %tensor.new
tensor.new:
  %tensor.word = shl i64 %n, 1
  store i64 %tensor.word, ptr %tensor.slot
  %dtype = load i64, ptr %object[$array_dtype]
  %dtype.wanted = load i64, ptr %first.at
  %dtype.fine = icmp eq i64 %dtype, %dtype.wanted
  %rank.narrow = load i32, ptr %object[$array_rank]
  %rank = zext i32 %rank.narrow to i64
  %rank.wanted = load i64, ptr %second.at
  %rank.fine = icmp eq i64 %rank, %rank.wanted
  %flags = load i32, ptr %object[$array_flags]
  %flags.plain = and i32 %flags, $array_plain
  %flags.fine = icmp eq i32 %flags.plain, $array_plain
  %dtype.and.rank = and i1 %dtype.fine, %rank.fine
  %tensor.fine = and i1 %dtype.and.rank, %flags.fine
  br i1 %tensor.fine, label %tensor.room, label %give.up
tensor.room:
  %tensor.words = add i64 %rank, 4
  %tensor.bytes = shl i64 %tensor.words, 3
  %tensor.entry = call ptr @relay_room(ptr %entries, i64 %tensor.bytes)
  br eq ptr %tensor.entry, null, label %give.up, label %tensor.fill
tensor.fill:
  %tensor.memory = load ptr, ptr %entries
  store i64 %tensor.word, ptr %tensor.memory[%to]
  %tensor.number = shl i64 %n, 8
  %tensor.kind = or i64 %tensor.number, $entry_tensor
  store i64 %tensor.kind, ptr %tensor.entry
  store i64 %rank, ptr %tensor.entry[i64 1]
  %elements = load i64, ptr %object[$array_data]
  store i64 %elements, ptr %tensor.entry[i64 2]
  %sizes.to = getelementptr i64, ptr %tensor.entry, i64 4
  %sizes = load ptr, ptr %object[$array_sizes]
  %element.bytes = load i64, ptr %third.at
  %sizes.wanted = getelementptr i64, ptr %what, i64 4
  br label %size.next
size.next:
  %axis = phi i64 [ 0, %tensor.fill ], [ %axis.next, %size.fine ]
  %bytes = phi i64 [ %element.bytes, %tensor.fill ], [ %bytes.more, %size.fine ]
  br ult i64 %axis, %rank, label %size.look, label %tensor.done
size.look:
  %size = load i64, ptr %sizes[i64 %axis]
  store i64 %size, ptr %sizes.to[i64 %axis]
  %wanted = load i64, ptr %sizes.wanted[i64 %axis]
  %bytes.more = mul i64 %bytes, %size
  br eq i64 %wanted, $any_size, label %size.fine, label %size.compare
size.compare:
  br slt i64 %wanted, 0, label %symbol, label %size.known
symbol:
  %symbol.number = sub i64 $first_symbol, %wanted
  %symbol.at = getelementptr i64, ptr %symbols, i64 %symbol.number
  %symbol.size = load i64, ptr %symbol.at
  br slt i64 %symbol.size, 0, label %bind, label %size.known
bind:
  store i64 %size, ptr %symbol.at
  br label %size.fine
size.known:
  %size.wanted = phi i64 [ %wanted, %size.compare ], [ %symbol.size, %symbol ]
  br eq i64 %size, %size.wanted, label %size.fine, label %give.up
size.fine:
  %axis.next = add i64 %axis, 1
  br label %size.next
tensor.done:
  store i64 %bytes, ptr %tensor.entry[i64 3]
  %n.tensor = add i64 %n, 1
  %tensor.kept = call i1 @relay_keep(ptr %held, ptr %object, ptr %is.held)
  br i1 %tensor.kept, label %keep.tensor, label %give.up
keep.tensor:
  br label %next
"""
