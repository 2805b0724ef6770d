"""What the native code of programs calls on a GPU, in LLVM IR.

    i32  relay_cuda_launch(ptr context, i64 first, i64 count, i64 most, ptr words)
    ptr  relay_cuda_slot(ptr context)
    i32  relay_cuda_read(ptr device, ptr to, ptr from, i64 bytes)          and others of the record

The record of a device (`relay.native.device`) goes on with functions of the driver and with

    launches    an array of { function, configuration, number of its arguments, these }; an argument
                is the number of a word, or -1 - n for the address n bytes into the workspace
    slots       memory that the device addresses as well, for scalars, one after the other

A nonzero status of the driver is kept in the record, and ends the call.
"""

from __future__ import annotations

from typing import Final

from relay.native import device, layout
from relay.native.notation import assemble
from relay.target.cuda.triton_compiler import ALIGNED, HIDDEN_PARAMETERS
from relay.target.llvm import abi

# --- functions of the driver, by their places in the record

DRIVER: Final = {
    name: device.DEVICE_SIZE + 8 * number
    for number, name in enumerate(
        (
            "cuLaunchKernelEx",
            "cuMemAlloc",
            "cuMemFree",
            "cuMemcpyHtoDAsync",
            "cuMemcpyDtoHAsync",
            "cuStreamSynchronize",
            "cuCtxSetCurrent",
        )
    )
}

# --- the rest of the record

CONTEXT: Final = device.DEVICE_SIZE + 8 * len(DRIVER)  # of the driver
STREAM: Final = CONTEXT + 8
LAUNCHES: Final = STREAM + 8
SLOTS: Final = LAUNCHES + 8
SLOTS_END: Final = SLOTS + 8
SLOT: Final = SLOTS_END + 8  # the next one
WORKSPACE: Final = SLOT + 8
FOLLOWS: Final = WORKSPACE + 8  # 1 after a launch, which the next one may wait for by itself
ERROR: Final = FOLLOWS + 8  # the last nonzero status of the driver
RECORD_SIZE: Final = ERROR + 8

# --- a launch

FUNCTION: Final = 0
CONFIGURATION: Final = 8  # `CUlaunchConfig`: grid, threads, shared memory, stream, attributes
CONFIGURATION_SIZE: Final = 56
CONFIGURED_STREAM: Final = 32  # places in it
CONFIGURED_ATTRIBUTES: Final = 48
ARGUMENTS: Final = CONFIGURATION + CONFIGURATION_SIZE  # their number
ARGUMENTS_AT: Final = ARGUMENTS + 8
LAUNCH_SIZE: Final = ARGUMENTS_AT + 8

OUT_OF_MEMORY: Final = 2  # a status of the driver
FUNCTIONS: Final = (
    "relay_cuda_allocate",
    "relay_cuda_free",
    "relay_cuda_write",
    "relay_cuda_read",
    "relay_cuda_wait",
    "relay_cuda_slot",
    "relay_cuda_launch",
)
# those that programs call
PROGRAM_IMPORTS: Final = FUNCTIONS[2:]


def text() -> str:
    """All functions."""
    names = {
        **layout.numbers(),
        **{name.lower(): place for name, place in DRIVER.items()},
        "driver_context": CONTEXT,
        "stream": STREAM,
        "launches": LAUNCHES,
        "slots": SLOTS,
        "slots_end": SLOTS_END,
        "slot": SLOT,
        "slot_size": ALIGNED,
        "workspace": WORKSPACE,
        "follows": FOLLOWS,
        "error": ERROR,
        "launch_size": LAUNCH_SIZE,
        "configuration": CONFIGURATION,
        "configuration_size": CONFIGURATION_SIZE,
        "configured_stream": CONFIGURED_STREAM,
        "configured_attributes": CONFIGURED_ATTRIBUTES,
        "arguments": ARGUMENTS,
        "arguments_at": ARGUMENTS_AT,
        "hidden": HIDDEN_PARAMETERS,
        "out_of_memory": abi.OUT_OF_MEMORY,
    }
    return assemble(_RUNTIME, names)


_RUNTIME: Final = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; The status for the runtime; the driver's is kept.
define internal i32 @relay_cuda_status(ptr %device, i32 %status) nounwind {
entry:
  br eq i32 %status, 0, label %fine, label %failed
fine:
  ret i32 0
failed:
  %wide = zext i32 %status to i64
  store i64 %wide, ptr %device[$error]
  ret i32 $device_failed
}

; --- memory

define internal void @relay_cuda_enter(ptr %device) nounwind {
  %set = load ptr, ptr %device[$cuctxsetcurrent]
  %context = load ptr, ptr %device[$driver_context]
  %status = call i32 %set(ptr %context)
  ret void
}

define ptr @relay_cuda_allocate(ptr %device, i64 %bytes) nounwind {
entry:
  %place = alloca ptr
  call void @relay_cuda_enter(ptr %device)
  %allocate = load ptr, ptr %device[$cumemalloc]
  %status = call i32 %allocate(ptr %place, i64 %bytes)
  br eq i32 %status, 0, label %fine, label %failed
fine:
  %memory = load ptr, ptr %place
  ret ptr %memory
failed:
  %kept = call i32 @relay_cuda_status(ptr %device, i32 %status)
  ret ptr null
}

define void @relay_cuda_free(ptr %device, ptr %memory) nounwind {
  call void @relay_cuda_enter(ptr %device)
  %free = load ptr, ptr %device[$cumemfree]
  %status = call i32 %free(ptr %memory)
  ret void
}

; --- copies

; The driver copies from memory that is not pinned before it returns; from other memory a caller
; gives, it is done when the call is.
define i32 @relay_cuda_write(ptr %device, ptr %to, ptr %from, i64 %bytes) nounwind {
entry:
  br eq i64 %bytes, 0, label %nothing, label %copy
copy:
  store i64 0, ptr %device[$follows]
  %stream = load ptr, ptr %device[$stream]
  %function = load ptr, ptr %device[$cumemcpyhtodasync]
  %status = call i32 %function(ptr %to, ptr %from, i64 %bytes, ptr %stream)
  %result = call i32 @relay_cuda_status(ptr %device, i32 %status)
  ret i32 %result
nothing:
  ret i32 0
}

define i32 @relay_cuda_read(ptr %device, ptr %to, ptr %from, i64 %bytes) nounwind {
entry:
  br eq i64 %bytes, 0, label %nothing, label %copy
copy:
  %stream = load ptr, ptr %device[$stream]
  %function = load ptr, ptr %device[$cumemcpydtohasync]
  %status = call i32 %function(ptr %to, ptr %from, i64 %bytes, ptr %stream)
  br eq i32 %status, 0, label %begun, label %failed
begun:
  %waited = call i32 @relay_cuda_wait(ptr %device)
  ret i32 %waited
failed:
  %result = call i32 @relay_cuda_status(ptr %device, i32 %status)
  ret i32 %result
nothing:
  ret i32 0
}

define i32 @relay_cuda_wait(ptr %device) nounwind {
  store i64 0, ptr %device[$follows]
  %stream = load ptr, ptr %device[$stream]
  %function = load ptr, ptr %device[$custreamsynchronize]
  %status = call i32 %function(ptr %stream)
  %result = call i32 @relay_cuda_status(ptr %device, i32 %status)
  ret i32 %result
}

; Memory for a scalar that a kernel reads or writes, or null. When all has been used once, wait for
; the kernels that use it.
define ptr @relay_cuda_slot(ptr %context) nounwind {
entry:
  %device = load ptr, ptr %context[$device]
  %slot = load ptr, ptr %device[$slot]
  %end = load ptr, ptr %device[$slots_end]
  br ult ptr %slot, %end, label %take, label %again
again:
  %status = call i32 @relay_cuda_wait(ptr %device)
  br eq i32 %status, 0, label %first, label %fail
first:
  %begin = load ptr, ptr %device[$slots]
  br label %take
take:
  %taken = phi ptr [ %slot, %entry ], [ %begin, %first ]
  %next = getelementptr i8, ptr %taken, i64 $slot_size
  store ptr %next, ptr %device[$slot]
  ret ptr %taken
fail:
  ret ptr null
}

; --- launches

; Run `count` launches over words, none of which has more than `most` arguments.
define i32 @relay_cuda_launch(ptr %context, i64 %begin, i64 %count, i64 %most, ptr %words)
    nounwind {
entry:
  %zero = alloca i64
  store i64 0, ptr %zero
  %configuration = alloca i8, i64 $configuration_size, align 8
  %room = add i64 %most, $hidden
  %params = alloca ptr, i64 %room
  %values = alloca i64, i64 %room
  %device = load ptr, ptr %context[$device]
  %launches = load ptr, ptr %device[$launches]
  %stream = load ptr, ptr %device[$stream]
  %launcher = load ptr, ptr %device[$culaunchkernelex]
  %workspace = load i64, ptr %device[$workspace]
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %launched ]
  br ult i64 %i, %count, label %launch, label %done
launch:
  %number = add i64 %begin, %i
  %offset = mul i64 %number, $launch_size
  %entry.at = getelementptr i8, ptr %launches, i64 %offset
  %function = load ptr, ptr %entry.at
  %template = getelementptr i8, ptr %entry.at, i64 $configuration
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %configuration, ptr align 8 %template,
                                   i64 $configuration_size, i1 false)
  store ptr %stream, ptr %configuration[$configured_stream]
  %follows = load i64, ptr %device[$follows]
  br eq i64 %follows, 0, label %alone, label %ready
alone:                                   ; there is no launch to wait for
  store i32 0, ptr %configuration[$configured_attributes]
  br label %ready
ready:
  %arguments = load i64, ptr %entry.at[$arguments]
  %arguments.at = load ptr, ptr %entry.at[$arguments_at]
  br label %argument
argument:
  %a = phi i64 [ 0, %ready ], [ %a.next, %argument.put ]
  br ult i64 %a, %arguments, label %argument.look, label %hide
argument.look:
  %which = load i64, ptr %arguments.at[i64 %a]
  br slt i64 %which, 0, label %between, label %word
between:
  %inside = sub i64 -1, %which
  %address = add i64 %workspace, %inside
  %value.at = getelementptr i64, ptr %values, i64 %a
  store i64 %address, ptr %value.at
  br label %argument.put
word:
  %word.at = getelementptr i64, ptr %words, i64 %which
  br label %argument.put
argument.put:
  %given = phi ptr [ %value.at, %between ], [ %word.at, %word ]
  store ptr %given, ptr %params[ptr %a]
  %a.next = add i64 %a, 1
  br label %argument
hide:
  %h = phi i64 [ 0, %argument ], [ %h.next, %hide.put ]
  br ult i64 %h, $hidden, label %hide.put, label %go
hide.put:
  %hidden.at = add i64 %arguments, %h
  store ptr %zero, ptr %params[ptr %hidden.at]
  %h.next = add i64 %h, 1
  br label %hide
go:
  %status = call i32 %launcher(ptr %configuration, ptr %function, ptr %params, ptr null)
  br eq i32 %status, 0, label %launched, label %failed
launched:
  store i64 1, ptr %device[$follows]
  %i.next = add i64 %i, 1
  br label %next
failed:
  %result = call i32 @relay_cuda_status(ptr %device, i32 %status)
  ret i32 %result
done:
  ret i32 0
}
"""
