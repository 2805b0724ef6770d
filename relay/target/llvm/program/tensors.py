"""Code for tensors and kernel calls in native programs.

A tensor is an object with its sizes, except where it is local to the function: then it is an
address in the frame, with sizes known to the code.
"""

from __future__ import annotations

from math import prod

from relay.extents import TENSOR_BYTES, size_text, tensor_text
from relay.lower.kernel import Kernel, TensorSpec
from relay.native import layout
from relay.program import program as isa
from relay.program.frame import FrameLayout, plan_frame
from relay.target.llvm import abi
from relay.target.llvm.program.emit import Emitter
from relay.target.llvm.program.types import symbol, value_type
from relay.target.llvm.program.unit import Unit
from relay.target.llvm.writer import item_bytes


class Tensors(Emitter):
    """Generates code for tensor instructions."""

    def __init__(self, unit: Unit, function: isa.Function) -> None:
        super().__init__(unit, function)
        self.frame: FrameLayout = plan_frame(function, self.local)
        self.frame_begin = "null"  # there is no frame if all of its tensors are empty
        self.sizes: dict[isa.Register, tuple[str, ...]] = {}  # of tensors allocated here

    def tensor(self, register: isa.Register) -> TensorSpec:
        spec = self.spec(register)
        assert isinstance(spec, TensorSpec)
        return spec

    def constant(self, instruction: isa.LoadConstant) -> None:
        place = self.unit.constant(instruction.constant)
        constants = self.load("ptr", "%ctx", layout.CONSTANTS)
        found = self.load("ptr", constants, 8 * place)
        spec = self.spec(instruction.output)
        if isinstance(spec, isa.ScalarSpec):
            data = self.load("ptr", found, layout.TENSOR_DATA)
            found = self.load_word(spec, data, 0)
        self.set(instruction.output, found)

    # --- memory

    def alloc(self, instruction: isa.AllocTensor) -> None:
        register = instruction.output
        self.sizes[register] = self._sizes(register, instruction.sizes)
        if register in self.local:
            return
        spec = self.tensor(register)
        bytes = self._bytes(spec, self.sizes[register], instruction.where)
        kind = "tensor" if self.unit.device is None else "device_tensor"
        made = self.make(
            f"call ptr @relay_new_{kind}(ptr %ctx, i64 {len(spec.shape)}, i64 {bytes})", "ptr"
        ).text
        self.check_memory(made, bytes)
        self._store_sizes(register, made)
        self.set(register, made)

    def view(self, instruction: isa.ViewTensor) -> None:
        register = instruction.output
        self.sizes[register] = self._sizes(register, instruction.sizes)
        if register in self.local:
            return
        spec = self.tensor(register)
        owner = self.text_of(instruction.input)
        made = self.make(
            f"call ptr @relay_new_view(ptr %ctx, ptr {owner}, i64 {len(spec.shape)})", "ptr"
        ).text
        self.check_memory(made)
        self._store_sizes(register, made)
        bytes = self._bytes(spec, self.sizes[register], instruction.where)
        self.store("i64", bytes, made, layout.TENSOR_BYTES)
        self.set(register, made)

    def _sizes(self, register: isa.Register, given: tuple[isa.Register, ...]) -> tuple[str, ...]:
        """The sizes of a new tensor; dynamic ones are given."""
        rest = iter(given)
        return tuple(
            str(size) if isinstance(size, int) else self.text_of(next(rest))
            for size in self.tensor(register).shape
        )

    def _store_sizes(self, register: isa.Register, made: str) -> None:
        for axis, size in enumerate(self.sizes[register]):
            self.store("i64", size, made, layout.TENSOR_DIMS + 8 * axis)

    def _bytes(self, spec: TensorSpec, sizes: tuple[str, ...], where: str) -> str:
        """The size of a tensor in bytes, with a check for overflow (`relay.extents`).

        The check takes an extent of 0 as 1, so that products of the other extents, in kernels, do
        not overflow either. A negative extent is a very large unsigned number.
        """
        known = [size for size in spec.shape if isinstance(size, int)]
        given = [
            text for size, text in zip(spec.shape, sizes, strict=True) if not isinstance(size, int)
        ]
        width = item_bytes(spec.dtype)
        total = str(prod(known) * width)
        if not given:
            return total
        room = str(prod(max(size, 1) for size in known) * width * (2**64 // TENSOR_BYTES))
        failed = "false"
        for text in given:
            total = self.make(f"mul i64 {total}, {text}", "i64").text
            least = self.make(f"call i64 @llvm.umax.i64(i64 {text}, i64 1)", "i64").text
            room, over = self.with_overflow("umul", room, least)
            failed = self.make(f"or i1 {failed}, {over}", "i1").text
        site = self.site(tensor_text(spec.shape, spec.dtype), where or None)
        self.too_large_if(failed, site, given)
        return total

    def with_overflow(self, op: str, left: str, right: str) -> tuple[str, str]:
        """The result of an operation, and whether it overflows."""
        kind = "{ i64, i1 }"
        intrinsic = f"@llvm.{op}.with.overflow.i64"
        both = self.make(f"call {kind} {intrinsic}(i64 {left}, i64 {right})", kind).text
        result = self.make(f"extractvalue {kind} {both}, 0", "i64").text
        return result, self.make(f"extractvalue {kind} {both}, 1", "i1").text

    def _nbytes(self, register: isa.Register) -> str:
        """The size in bytes of a tensor that is an object."""
        if isa.is_static(spec := self.tensor(register)):
            return str(isa.nbytes(spec))
        return self.load("i64", self.text_of(register), layout.TENSOR_BYTES)

    def compute_size(self, instruction: isa.ComputeSize) -> None:
        given = self.text_of(instruction.left), self.text_of(instruction.right)
        result, over = self.with_overflow(f"s{instruction.op}", *given)
        site = self.site(size_text(instruction.op), instruction.where)
        self.too_large_if(over, site, given)
        self.set(instruction.output, result)

    def data(self, register: isa.Register) -> str:
        """The address of the elements."""
        owner = self.local.get(register, register)
        if (offset := self.frame.offsets.get(owner)) is not None:
            return self.at(self.frame_begin, offset)
        key = ("data", owner)
        if key not in self.loaded:
            self.loaded[key] = self.load("ptr", self.text_of(owner), layout.TENSOR_DATA)
        return self.loaded[key]

    # --- reading

    def read_size(self, instruction: isa.ReadSize) -> None:
        # the type of a tensor allocated elsewhere is what is being checked
        register, axis = instruction.tensor, instruction.axis
        if register in self.sizes:
            self.set(instruction.output, self.sizes[register][axis])
        else:
            place = layout.TENSOR_DIMS + 8 * axis
            self.set(instruction.output, self.load("i64", self.text_of(register), place))

    def read_element(self, instruction: isa.ReadElement) -> None:
        spec = self.spec(instruction.output)
        assert isinstance(spec, isa.ScalarSpec)
        width = item_bytes(spec.dtype)
        place, offset = self.data(instruction.tensor), instruction.index * width
        if self.unit.device is not None:
            copy = self.stack("element", 1)
            given = f"ptr %ctx, ptr {copy}, ptr {self.at(place, offset)}, i64 {width}"
            status = self.make(f"call i32 @relay_read_device({given})", "i32").text
            failed = self.make(f"icmp ne i32 {status}, 0", "i1").text
            self.fail_if(failed, status, self.site())
            place, offset = copy, 0
        self.set(instruction.output, self.load_word(spec, place, offset))

    def require_equal(self, instruction: isa.RequireEqual) -> None:
        left, right = self.text_of(instruction.left), self.text_of(instruction.right)
        differ = self.make(f"icmp ne i64 {left}, {right}", "i1").text
        texts = (instruction.expected, instruction.found)
        site = self.site(instruction.message, instruction.where, texts=texts)
        details = [self.word_of(register) for register in instruction.details]
        self.fail_if(differ, str(layout.UNEQUAL), site, details)

    def word_of(self, register: isa.Register) -> str:
        """A scalar of eight bytes as an i64."""
        text, kind = self.text_of(register), value_type(self.spec(register))
        return text if kind == "i64" else self.make(f"bitcast {kind} {text} to i64", "i64").text

    # --- kernels

    def invoke(self, instruction: isa.InvokeKernel) -> None:
        kernel = self.unit.program.kernel_table[instruction.kernel]
        self.unit.kernels[kernel.name] = None
        addresses: list[tuple[str, str]] = []
        spilled = 0

        def place_of(register: isa.Register) -> str:
            """The address of a tensor, or of a scalar, which is spilled to the stack."""
            nonlocal spilled
            if isinstance(self.spec(register), TensorSpec):
                return self.data(register)
            spilled += 1
            return self.at(self.stack("scalars", spilled), 8 * (spilled - 1))

        for register in instruction.inputs:
            place = place_of(register)
            spec = self.spec(register)
            if isinstance(spec, isa.ScalarSpec):
                self.store_word(spec, self.text_of(register), place, 0)
            addresses.append(("ptr", place))
        written = []
        for register in instruction.outputs:
            place = place_of(register)
            if isinstance(self.spec(register), isa.ScalarSpec):
                written.append((register, place))
            addresses.append(("ptr", place))
        addresses += [("i64", self.text_of(register)) for register in instruction.sizes]
        device = self.unit.device
        tensors = [*instruction.inputs, *instruction.outputs]
        sizes = tensors if device is not None and device.runs_on_host(kernel) else []
        args = self.stack("args", len(addresses) + 1 + len(sizes))
        for position, register in enumerate(sizes, len(addresses) + 1):
            if isinstance(self.spec(register), TensorSpec):
                self.store("i64", self._nbytes(register), args, 8 * position)
        for position, (kind, value) in enumerate(addresses):
            self.store(kind, value, args, 8 * position)
        workspace = self._workspace(kernel, args)
        if workspace is not None:
            self.store("ptr", workspace, args, 8 * len(addresses))
        name = symbol(kernel.name if device is None else device.entry(kernel))
        status = self.make(f"call i32 {name}(ptr %ctx, ptr {args})", "i32").text
        if workspace is not None:
            self.store("ptr", workspace, "%ctx", layout.FRAME)
        failed = self.make(f"icmp ne i32 {status}, 0", "i1").text
        self.fail_if(failed, status, self.site(where=instruction.where, kernel=kernel.name))
        self.poll_after_kernel()
        for register, place in written:
            spec = self.spec(register)
            assert isinstance(spec, isa.ScalarSpec)
            self.set(register, self.load_word(spec, place, 0))

    def _workspace(self, kernel: Kernel, args: str) -> str | None:
        """The workspace for one call of a kernel, if it needs one."""
        if self.unit.device is not None and not self.unit.device.runs_on_host(kernel):
            return None
        if kernel.sized_workspace:
            name = self.unit.workspace_of(kernel.name)
            size = self.make(f"call i64 {symbol(name)}(ptr %ctx, ptr {args})", "i64").text
        elif kernel.worker_workspace:
            threads = self.load("i64", "%ctx", abi.THREADS)
            each = self.make(f"mul i64 {threads}, {kernel.worker_workspace}", "i64").text
            size = self.make(f"add i64 {each}, {kernel.workspace}", "i64").text
        elif kernel.workspace:
            size = str(kernel.workspace)
        else:
            return None
        return self.allocate_frame(size)

    def allocate_frame(self, size: str) -> str:
        """Allocate frame memory, until `FRAME` is reset to its address."""
        taken = self.make(f"call ptr @relay_frame(ptr %ctx, i64 {size})", "ptr").text
        self.check_memory(taken, size)
        return taken
