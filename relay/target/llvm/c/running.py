"""Runs an exported program, in LLVM IR: checks and retains arguments, calls `main`."""

from __future__ import annotations

from typing import Final

RUNNING: Final = """
define i32 @${name}_invoke(ptr %model, ptr %arguments, ptr %results) nounwind {
entry:
  %given = alloca [$all_arguments x i64]
  %made = alloca [$all_results x i64]
  %bound = alloca [$names x i64]
  call void @llvm.memset.p0.i64(ptr %bound, i8 -1, i64 $name_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr align 8 %results, i8 0, i64 $result_bytes, i1 false)
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fits ]
  br ult i64 %i, $arguments, label %read, label %begin
read:
  %word = load i64, ptr %arguments[i64 %i]
  store i64 %word, ptr %given[i64 %i]
  %part = getelementptr $part_type, ptr @relay_arguments, i64 %i
  %known = load i64, ptr %part
  br eq i64 %known, $no_object, label %fits, label %check
check:
  %value = inttoptr i64 %word to ptr
  %checked = call i32 @relay_check(ptr %model, ptr %value, ptr %part, ptr %bound)
  br eq i32 %checked, 0, label %fits, label %refused
refused:
  ret i32 %checked
fits:
  %i.next = add i64 %i, 1
  br label %look

begin:                                   ; retain the arguments for the program
  call void @relay_set_status(ptr %model, i32 0)
  store i8 0, ptr %model[$message_at]
  br label %hold.look
hold.look:
  %h = phi i64 [ 0, %begin ], [ %h.next, %hold.next ]
  br ult i64 %h, $arguments, label %hold.read, label %run
hold.read:
  %hold.part = getelementptr $part_type, ptr @relay_arguments, i64 %h
  %hold.known = load i64, ptr %hold.part
  br eq i64 %hold.known, $no_object, label %hold.next, label %hold.look.at
hold.look.at:
  %hold.value = load ptr, ptr %given[ptr %h]
  %hold.object = call i1 @relay_is_object(ptr %hold.value)
  br i1 %hold.object, label %hold, label %hold.next
hold:
  call void @relay_retain_object(ptr %hold.value)
  br label %hold.next
hold.next:
  %h.next = add i64 %h, 1
  br label %hold.look

run:                                     ; the state comes last
  %state = getelementptr i8, ptr %model, i64 $state_at
  %state.bytes = shl i64 $kept, 3
  %given.state = getelementptr i64, ptr %given, i64 $arguments
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %given.state, ptr align 8 %state,
                                   i64 %state.bytes, i1 false)
  %state.objects = call i64 @relay_visit_state(ptr %model, i1 true)
  store i64 -1, ptr %model[$site]             ; outside the program
  %status = call i32 @relay_enter(ptr %model, ptr @$entry, ptr %given, ptr %made)
  br eq i32 %status, 0, label %replace, label %failed
failed:
  store i64 1, ptr %model[$failed_at]
  call void @relay_explain(ptr %model, i32 %status)
  call void @llvm.memset.p0.i64(ptr align 8 %results, i8 0, i64 $result_bytes, i1 false)
  call void @relay_count_holds(ptr %model, i64 0)
  ret i32 %status

replace:
  %before = call i64 @relay_visit_state(ptr %model, i1 false)
  %held = load i64, ptr %model[$held_at]
  store i64 %state.objects, ptr %model[$held_at]
  %more.state = sub i64 %state.objects, %held
  %made.state = getelementptr i64, ptr %made, i64 $result_count
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %state, ptr align 8 %made.state,
                                   i64 %state.bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %results, ptr align 8 %made,
                                   i64 $result_bytes, i1 false)
  br label %result.look

result.look:
  %r = phi i64 [ 0, %replace ], [ %r.next, %result.next ]
  %more = phi i64 [ %more.state, %replace ], [ %more.next, %result.next ]
  br ult i64 %r, $result_count, label %result, label %done
result:
  %kind = load i8, ptr @relay_results[%r]
  %may.be = icmp ne i8 %kind, 0
  %result.value = load ptr, ptr %results[ptr %r]
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
"""
