"""Hash table of the objects that were read, by address and record (`python_values.py`).

Slots are { address, record, word, call }. Slots of earlier calls count as free, so that the table
need not be cleared.
"""

from __future__ import annotations

from typing import Final

SEEN: Final = """
; The address of the word of an object and a record, -1 if it is new; null without memory.
define internal ptr @relay_seen(ptr %reading, i64 %address, i64 %record) nounwind {
entry:
  %call = load i64, ptr %reading[$reading_call]
  %used = load i64, ptr %reading[$reading_slots_used]
  %used.twice = shl i64 %used, 1
  %count.before = load i64, ptr %reading[$reading_slot_count]
  br uge i64 %used.twice, %count.before, label %grow, label %look.up
grow:
  %grown = call i1 @relay_more_slots(ptr %reading)
  br i1 %grown, label %look.up, label %fail
look.up:
  %slots = load ptr, ptr %reading[$reading_slots]
  %count = load i64, ptr %reading[$reading_slot_count]
  %found = call ptr @relay_slot(ptr %slots, i64 %count, i64 %call, i64 %address, i64 %record)
  %word.at = getelementptr i64, ptr %found, i64 2
  %slot.call = load i64, ptr %found[i64 3]
  br eq i64 %slot.call, %call, label %done, label %take
take:
  store i64 %address, ptr %found
  store i64 %record, ptr %found[i64 1]
  store i64 -1, ptr %word.at
  store i64 %call, ptr %found[i64 3]
  %used.more = add i64 %used, 1
  store i64 %used.more, ptr %reading[$reading_slots_used]
  br label %done
done:
  ret ptr %word.at
fail:
  ret ptr null
}

; The slot of an object and a record, or the free slot for it.
define internal ptr @relay_slot(ptr %slots, i64 %count, i64 %call, i64 %address, i64 %record)
    nounwind {
entry:
  %mask = sub i64 %count, 1
  %address.high = lshr i64 %address, 4   ; addresses are multiples of 16
  %record.spread = mul i64 %record, 40503
  %both = xor i64 %address.high, %record.spread
  %spread = mul i64 %both, -7046029254386353131
  %first = lshr i64 %spread, 32
  br label %look
look:
  %place = phi i64 [ %first, %entry ], [ %place.next, %other ]
  %inside = and i64 %place, %mask
  %slot = getelementptr { i64, i64, i64, i64 }, ptr %slots, i64 %inside
  %slot.call = load i64, ptr %slot[i64 3]
  br eq i64 %slot.call, %call, label %compare, label %done
compare:
  %slot.address = load i64, ptr %slot
  %slot.record = load i64, ptr %slot[i64 1]
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
  %call = load i64, ptr %reading[$reading_call]
  %slots = load ptr, ptr %reading[$reading_slots]
  %count = load i64, ptr %reading[$reading_slot_count]
  %twice = shl i64 %count, 1
  %wanted = call i64 @llvm.umax.i64(i64 %twice, i64 64)
  %larger = call ptr @calloc(i64 %wanted, i64 32) ; all free: calls are counted from 1
  br eq ptr %larger, null, label %fail, label %begin
begin:
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %i.next, %skip ], [ %i.next.moved, %move ]
  br ult i64 %i, %count, label %look, label %done
look:
  %from = getelementptr { i64, i64, i64, i64 }, ptr %slots, i64 %i
  %from.call = load i64, ptr %from[i64 3]
  br eq i64 %from.call, %call, label %move, label %skip
skip:
  %i.next = add i64 %i, 1
  br label %next
move:
  %address = load i64, ptr %from
  %record = load i64, ptr %from[i64 1]
  %to = call ptr @relay_slot(ptr %larger, i64 %wanted, i64 %call, i64 %address, i64 %record)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 32, i1 false)
  %i.next.moved = add i64 %i, 1
  br label %next
done:
  call void @free(ptr %slots)
  store ptr %larger, ptr %reading[$reading_slots]
  store i64 %wanted, ptr %reading[$reading_slot_count]
  ret i1 true
fail:
  ret i1 false
}

define internal void @relay_drop_slots(ptr %reading) nounwind {
  %slots = load ptr, ptr %reading[$reading_slots]
  call void @free(ptr %slots)
  store ptr null, ptr %reading[$reading_slots]
  store i64 0, ptr %reading[$reading_slot_count]
  ret void
}
"""
