"""What native code of a program calls in place of a kernel, with the same arguments.

    i32 kernel.device(ptr context, ptr args)

For a kernel of the device: tensors are passed on, scalars are copied to memory that the device
addresses, and the launches of the kernel are begun. A scalar that it computes is waited for.

For one of the host: its inputs are copied into the frame, and its results out of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from relay.immutable import frozen
from relay.native import layout
from relay.target.cuda import host
from relay.target.kernel import Kernel, TensorSpec
from relay.target.llvm import abi
from relay.target.llvm.program.types import symbol

DECLARATIONS: Final = """\
declare ptr @relay_cuda_slot(ptr)
declare i32 @relay_cuda_launch(ptr, i64, i64, i64, ptr)
declare i32 @relay_cuda_read(ptr, ptr, ptr, i64)
declare i32 @relay_cuda_write(ptr, ptr, ptr, i64)
declare i32 @relay_cuda_wait(ptr)
"""


def entry(kernel: Kernel) -> str:
    """The function that is called in place of a kernel."""
    return f"{kernel.name}.device"


def is_on_device(kernel: Kernel) -> bool:
    return host.is_device_text(kernel.ir)


@frozen
class Numbered:
    """The launches of a kernel in the table of a program: where they begin, how many there are, and
    the most arguments of one."""

    first: int
    count: int
    most: int


def numbered(kernels: Sequence[Kernel]) -> dict[str, Numbered]:
    """The launches of the kernels for the device, in the order of the table."""
    found: dict[str, Numbered] = {}
    first = 0
    for kernel in kernels:
        if is_on_device(kernel) and kernel.name not in found:
            launches = json.loads(kernel.ir)["launches"]
            most = max((len(one["arguments"]) for one in launches), default=0)
            found[kernel.name] = Numbered(first, len(launches), most)
            first += len(launches)
    return found


class Stubs:
    """How programs call these kernels (`relay.target.llvm.program.unit.Device`)."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = {kernel.name: kernel for kernel in kernels}
        self.numbers = numbered(kernels)

    def entry(self, kernel: Kernel) -> str:
        return entry(kernel)

    def runs_on_host(self, kernel: Kernel) -> bool:
        return not is_on_device(kernel)

    def text(self, names: Sequence[str]) -> str:
        """The stubs of kernels."""
        parts = [DECLARATIONS]
        for name in names:
            kernel = self.kernels[name]
            if is_on_device(kernel):
                parts.append(_launching(kernel, self.numbers[name]))
            else:
                parts.append(f"declare i32 {symbol(name)}(ptr, ptr)\n" + _copying(kernel))
        return "\n".join(parts)


def _is_scalar(spec: TensorSpec) -> bool:
    return not spec.shape


class _Text:
    """Writes the body of a stub, which ends early with a status."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.made = 0
        self.failures: list[tuple[str, str]] = []  # (status, block)
        self.block = "entry"
        self.inputs = len(kernel.inputs)
        self.tensors = [*kernel.inputs, *kernel.outputs]
        self.words = len(self.tensors) + len(kernel.sizes) + 1  # the last for a workspace

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def value(self, text: str) -> str:
        name = f"%v{self.made}"
        self.made += 1
        self.line(f"{name} = {text}")
        return name

    def fail_unless(self, condition: str, status: str) -> None:
        """Go on in a new block if a condition holds."""
        block = f"b{self.made}"
        self.made += 1
        self.failures.append((status, self.block))
        self.line(f"br i1 {condition}, label %{block}, label %failed")
        self.lines.append(f"{block}:")
        self.block = block

    def check(self, status: str) -> None:
        self.fail_unless(self.value(f"icmp eq i32 {status}, 0"), status)

    def word(self, base: str, number: int) -> str:
        return self.value(f"getelementptr i64, ptr {base}, i64 {number}")

    def given(self, number: int) -> str:
        """An argument of the kernel."""
        return self.value(f"load ptr, ptr {self.word('%args', number)}")

    def pass_on(self, number: int, value: str) -> None:
        self.line(f"store ptr {value}, ptr {self.word('%words', number)}")

    def text(self) -> str:
        head = f"define i32 {symbol(entry(self.kernel))}(ptr %ctx, ptr %args) nounwind {{"
        begin = ["entry:", f"  %words = alloca [{self.words} x i64], align 16"]
        end = ["  ret i32 0"]
        if self.failures:
            ways = ", ".join(f"[ {status}, %{block} ]" for status, block in self.failures)
            end += ["failed:", f"  %status = phi i32 {ways}", "  ret i32 %status"]
        return "\n".join([head, *begin, *self.lines, *end, "}"]) + "\n"


def _launching(kernel: Kernel, numbers: Numbered) -> str:
    """The stub of a kernel for the device."""
    stub = _Text(kernel)
    computed: list[tuple[str, str]] = []  # scalars: where they are wanted, where they are written
    for number, spec in enumerate(stub.tensors):
        place = stub.given(number)
        if not _is_scalar(spec):
            stub.pass_on(number, place)
            continue
        slot = stub.value("call ptr @relay_cuda_slot(ptr %ctx)")
        stub.fail_unless(stub.value(f"icmp ne ptr {slot}, null"), str(layout.DEVICE_FAILED))
        if number < stub.inputs:
            held = stub.value(f"load i64, ptr {place}")
            stub.line(f"store i64 {held}, ptr {slot}")
        else:
            computed.append((place, slot))
        stub.pass_on(number, slot)
    given = f"i64 {numbers.first}, i64 {numbers.count}, i64 {numbers.most}, ptr %words"
    stub.check(stub.value(f"call i32 @relay_cuda_launch(ptr %ctx, {given})"))
    if computed:
        device = _device(stub)
        stub.check(stub.value(f"call i32 @relay_cuda_wait(ptr {device})"))
        for place, slot in computed:
            held = stub.value(f"load i64, ptr {slot}")
            stub.line(f"store i64 {held}, ptr {place}")
    return stub.text()


def _copying(kernel: Kernel) -> str:
    """The stub of a kernel for the host."""
    stub = _Text(kernel)
    device = _device(stub)
    frame_at = stub.value(f"getelementptr i8, ptr %ctx, i64 {layout.FRAME}")
    frame = stub.value(f"load ptr, ptr {frame_at}")
    copies: list[tuple[str, str, str]] = []  # of results
    for number, spec in enumerate(stub.tensors):
        place = stub.given(number)
        if _is_scalar(spec):
            stub.pass_on(number, place)
            continue
        size = stub.value(f"load i64, ptr {stub.word('%args', stub.words + number)}")
        copy = stub.value(f"call ptr @relay_frame(ptr %ctx, i64 {size})")
        stub.fail_unless(stub.value(f"icmp ne ptr {copy}, null"), str(abi.OUT_OF_MEMORY))
        stub.pass_on(number, copy)
        given = f"ptr {device}, ptr {copy}, ptr {place}, i64 {size}"
        if number < stub.inputs:
            stub.check(stub.value(f"call i32 @relay_cuda_read({given})"))
        else:
            copies.append((place, copy, size))
    for number in range(len(stub.tensors), stub.words):
        stub.pass_on(number, stub.given(number))
    called = f"call i32 {symbol(kernel.name)}(ptr %ctx, ptr %words)"
    stub.check(stub.value(called))
    for place, copy, size in copies:
        given = f"ptr {device}, ptr {place}, ptr {copy}, i64 {size}"
        stub.check(stub.value(f"call i32 @relay_cuda_write({given})"))
    stub.line(f"store ptr {frame}, ptr {frame_at}")
    return stub.text()


def _device(stub: _Text) -> str:
    at = stub.value(f"getelementptr i8, ptr %ctx, i64 {layout.DEVICE}")
    return stub.value(f"load ptr, ptr {at}")
