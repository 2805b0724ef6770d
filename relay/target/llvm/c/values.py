"""Construction and access of values of an exported program, in LLVM IR.

They are objects in the heap of the model. The caller owns one reference to a new object; the
references to its fields are moved into it.
"""

from __future__ import annotations

from typing import Final

MAKING: Final = """
define ptr @${name}_tensor(ptr %model, ptr %data, i64 %item, i32 %rank.given, ptr %sizes,
                           i32 %copied) nounwind {
entry:
  %message = getelementptr i8, ptr %model, i64 $message_at
  %rank = sext i32 %rank.given to i64
  %lower = sub i64 %rank, 1
  %limit.item = shl i64 %item, 2          ; a tensor takes less than 2^62 bytes
  br ult i64 %lower, $most_dimensions, label %look, label %say.shape
say.shape:
  %length.shape = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 $message_size,
      ptr @relay_format_shape, i64 %rank)
  br label %wrong
look:
  %axis = phi i64 [ 0, %entry ], [ %axis.next, %multiply ]
  %bytes = phi i64 [ %item, %entry ], [ %product, %multiply ]
  %limit = phi i64 [ %limit.item, %entry ], [ %limit.more, %multiply ]
  br ult i64 %axis, %rank, label %size, label %made.of
size:
  %size.here = load i64, ptr %sizes[i64 %axis]
  %negative = icmp slt i64 %size.here, 0
  %least = call i64 @llvm.umax.i64(i64 %size.here, i64 1)
  %both = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %limit, i64 %least)
  %limit.more = extractvalue { i64, i1 } %both, 0
  %large = extractvalue { i64, i1 } %both, 1
  %refused = or i1 %negative, %large
  br i1 %refused, label %say.negative, label %multiply
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
  br eq ptr %tensor, null, label %no.memory, label %fill
fill:
  %dims = getelementptr i8, ptr %tensor, i64 $tensor_dims
  %dims.bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %dims, ptr align 8 %sizes, i64 %dims.bytes,
                                   i1 false)
  br i1 %own, label %copy, label %borrow
copy:
  %to = load ptr, ptr %tensor[$tensor_data]
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %to, ptr %data, i64 %bytes, i1 false)
  br label %done
borrow:
  store ptr %data, ptr %tensor[$tensor_data]
  store i64 $external, ptr %tensor[$tensor_owner]
  store i64 %bytes, ptr %tensor[$tensor_bytes]
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
  %tag = load i32, ptr %one[i32 1]
  %objects = load i32, ptr %one[i32 2]
  %count = load i32, ptr %one[i32 3]
  %parts = load ptr, ptr %one[16]
  %bound = alloca [$names x i64]
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %i.next, %checked ]
  %held = phi i64 [ 0, %entry ], [ %held.more, %checked ]
  br ult i32 %i, %objects, label %check, label %make
check:
  %word.at = getelementptr ptr, ptr %words, i32 %i
  %word = load ptr, ptr %word.at
  %part = getelementptr $part_type, ptr %parts, i32 %i
  %status = call i32 @relay_check(ptr %model, ptr %word, ptr %part, ptr %bound)
  br eq i32 %status, 0, label %checked, label %drop
checked:
  %is.object = call i1 @relay_is_object(ptr %word)
  %one.more = zext i1 %is.object to i64
  %held.more = add i64 %held, %one.more
  %i.next = add i32 %i, 1
  br label %look
make:
  %object = call ptr @relay_new_object(ptr %model, i32 %kind, i32 %tag, i32 %objects, i32 %count)
  br eq ptr %object, null, label %no.memory, label %fill
fill:
  %places = call ptr @relay_words_of(ptr %object, i32 %kind)
  %count.wide = zext i32 %count to i64
  %bytes = shl i64 %count.wide, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %places, ptr align 8 %words, i64 %bytes, i1 false)
  %more = sub i64 1, %held               ; the references to fields are the object's now
  call void @relay_count_holds(ptr %model, i64 %more)
  ret ptr %object
no.memory:
  call void @relay_no_memory(ptr %model, ptr @relay_outside)
  br label %drop
drop:                                    ; the fields are released in any case
  %d = phi i32 [ 0, %check ], [ 0, %no.memory ], [ %d.next, %drop.one ]
  br ult i32 %d, %objects, label %drop.one, label %fail
drop.one:
  %dropped.at = getelementptr ptr, ptr %words, i32 %d
  %dropped = load ptr, ptr %dropped.at
  call void @${name}_release(ptr %model, ptr %dropped)
  %d.next = add i32 %d, 1
  br label %drop
fail:
  ret ptr null
}
"""

READING: Final = """
; The address of the words of an object: 16 + 8 * kind.
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
  %tag = load i32, ptr %value[$detail]
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
  %wanted = load i32, ptr %one[i32 1]
  %tag = load i32, ptr %value[$detail]
  br eq i32 %tag, %wanted, label %read, label %none
read:
  %words = call ptr @relay_words_of(ptr %value, i32 %kind)
  %at = getelementptr i64, ptr %words, i32 %word
  %found = load i64, ptr %at
  ret i64 %found
none:
  ret i64 0
}

define i32 @${name}_rank(ptr %tensor) nounwind {
  %rank = load i32, ptr %tensor[$detail]
  ret i32 %rank
}

define ptr @${name}_sizes(ptr %tensor) nounwind {
  %dims = getelementptr i8, ptr %tensor, i64 $tensor_dims
  ret ptr %dims
}

define ptr @${name}_elements(ptr %tensor) nounwind {
  %data = load ptr, ptr %tensor[$tensor_data]
  ret ptr %data
}
"""
