"""Kernels that call the code of external compilers, in LLVM IR.

The arguments become an array of DLPack's tensors on the stack (`DLTensor`, 64-bit):

     0 data   8 device type, id   16 ndim   20 type code, bits, lanes   24 shape   32 strides
    40 byte offset
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from relay import dtypes
from relay.external.functions import TENSOR_SIZE
from relay.target.kernel import KernelCode, TensorSpec
from relay.target.llvm import abi
from relay.target.llvm.objects import EXTERNAL

_CPU: Final = 1
_CODES: Final = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


def symbol_of(kernel: str) -> str:
    """The function that a kernel calls."""
    return f"{kernel}{EXTERNAL}"


def external_kernel(
    name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> KernelCode:
    """A kernel that calls `int32_t (DLTensor *tensors, int32_t count)`."""
    specs = (*inputs, *outputs)
    tables: list[str] = []
    lines: list[str] = []
    for i, spec in enumerate(specs):
        shape = tuple(map(int, spec.shape))
        sizes = ", ".join(f"i64 {size}" for size in shape) or "i64 0"
        count = max(1, len(shape))
        tables.append(f"@{name}.shape{i} = internal constant [{count} x i64] [{sizes}]")
        code, bits = _type_of(spec.dtype)
        lines += [
            f"  %from{i} = getelementptr i8, ptr %args, i64 {8 * i}",
            f"  %data{i} = load ptr, ptr %from{i}, align 8",
        ]
        fields = [
            (0, f"ptr %data{i}"),
            (8, f"i32 {_CPU}"),
            (12, "i32 0"),
            (16, f"i32 {len(shape)}"),
            (20, f"i8 {code}"),
            (21, f"i8 {bits}"),
            (22, "i16 1"),
            (24, f"ptr @{name}.shape{i}"),
            (32, "ptr null"),
            (40, "i64 0"),
        ]
        for offset, value in fields:
            at = f"%at{i}.{offset}"
            place = i * TENSOR_SIZE + offset
            lines.append(f"  {at} = getelementptr i8, ptr %tensors, i64 {place}")
            lines.append(f"  store {value}, ptr {at}")
    text = [
        *tables,
        f"declare i32 @{symbol_of(name)}(ptr, i32)",
        f"define i32 @{name}(ptr %context, ptr %args) {{",
        "entry:",
        f"  %tensors = alloca [{max(1, len(specs)) * TENSOR_SIZE} x i8], align 16",
        *lines,
        f"  %status = call i32 @{symbol_of(name)}(ptr %tensors, i32 {len(specs)})",
        "  %fine = icmp eq i32 %status, 0",
        "  br i1 %fine, label %done, label %failed",
        "failed:",
        f"  %details = getelementptr i8, ptr %context, i64 {abi.DETAILS[0]}",
        "  %wide = sext i32 %status to i64",
        "  store i64 %wide, ptr %details",
        f"  ret i32 {abi.EXTERNAL}",
        "done:",
        "  ret i32 0",
        "}",
    ]
    return KernelCode("\n".join(text))


def _type_of(dtype: str) -> tuple[int, int]:
    """The type code and the number of bits of an element type, as DLPack has them."""
    bits = dtypes.to_numpy(dtype).itemsize * 8
    return _CODES[dtype.rstrip("0123456789")], bits
