"""The CUDA target: NVIDIA GPUs (`relay.target.target`).

    Target("cuda")                       the GPU of this machine
    Target("cuda -arch=sm_90")           GPUs of an architecture; compiling needs none
    Target("cuda -precision=tf32")       float32 products on tensor cores, with 10 bits of mantissa
    Target("cuda -precision=float16")    float32 programs in half precision, where that is enough

It is cheap to import: schedules, code generation and loading are imported on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from relay.errors import TargetError
from relay.target.cuda.architecture import Architecture, architecture
from relay.target.target import Store, Target, TargetKind, mistake

if TYPE_CHECKING:
    from relay.ir.expr import Call
    from relay.ir.module import IRModule
    from relay.program.native import NativeProgram
    from relay.program.program import Program
    from relay.target.kernel import Kernel, KernelCode, Scheduled
    from relay.target.loaded import Loaded
    from relay.te.compute import Tensor
    from relay.te.expr import Extent
    from relay.te.schedule import Schedule

PRECISIONS = ("float32", "tf32", "float16", "bfloat16")


@dataclass(frozen=True, repr=False)
class CUDATarget(Target):
    """GPUs of an architecture, with this machine as their host."""

    kind: ClassVar[TargetKind] = TargetKind("cuda")
    device: ClassVar[str] = "cuda"
    options: ClassVar[Mapping[str, str]] = {
        "arch": "the architecture: sm_80, sm_90, …",
        "precision": "of programs of float32: float32, tf32 (of products), float16 or bfloat16",
    }

    arch: str
    precision: str = "float32"

    @classmethod
    def of_options(cls, options: Mapping[str, str], text: str) -> CUDATarget:
        from relay.target.cuda.driver import architecture_here

        precision = options.get("precision", PRECISIONS[0])
        if precision not in PRECISIONS:
            raise mistake(f"there is no precision `{precision}`", text, ", ".join(PRECISIONS))
        found = options.get("arch") or architecture_here()
        return cls(architecture(found).name, precision)

    def __str__(self) -> str:
        precision = "" if self.precision == PRECISIONS[0] else f" -precision={self.precision}"
        return f"{self.kind} -arch={self.arch}{precision}"

    @property
    def architecture(self) -> Architecture:
        """The facts of the architecture."""
        return architecture(self.arch)

    # --- lowering

    def narrowed(self, module: IRModule) -> IRModule:
        if self.precision in ("float32", "tf32"):
            return module
        from relay.transform.context import PassContext
        from relay.transform.infer_type import InferType
        from relay.transform.precision.to_mixed_precision import ToMixedPrecision

        outer = PassContext.current()
        config = {**outer.config, "relay.ToMixedPrecision.keep_orig_output_dtype": True}
        with PassContext(outer.opt_level, outer.required_pass, outer.disabled_pass, config=config):
            return ToMixedPrecision(self.precision)(InferType()(module))

    def preferred(self, call: Call) -> Call | None:
        from relay.target.cuda.layouts import preferred

        return preferred(call)

    def schedule(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        *,
        threads: bool,
        exact: bool = False,
        plan: str = "",
    ) -> Scheduled:
        from relay.target.cuda import host
        from relay.target.cuda.nests import schedule
        from relay.target.cuda.splits import split_products
        from relay.target.cuda.stems import pack_stems
        from relay.target.kernel import Scheduled

        if host.reason(outputs) is not None:
            return host.schedule(outputs, inputs, threads=threads)
        many = self.architecture.multiprocessors
        made = pack_stems(schedule(outputs, inputs), many)
        return Scheduled((), split_products(made, many))

    def generate(
        self,
        name: str,
        schedule: Schedule,
        *,
        checked: bool,
        may_alias: bool,
        sizes: Sequence[Extent],
    ) -> KernelCode:
        from relay.target.cuda import host
        from relay.target.cuda.codegen import generate

        if not checked and host.reason(schedule.outputs) is None:
            made = generate(name, schedule, self)
            if made is not None:
                return made
        return host.generate(name, schedule, checked=checked, may_alias=may_alias, sizes=sizes)

    # --- compiling

    @property
    def version(self) -> str:
        from relay.target.cuda import host
        from relay.target.cuda.triton_compiler import triton_version

        return f"triton {triton_version()}, {host.target().version}"

    def compile(self, texts: Sequence[str]) -> list[bytes]:
        from relay.target.cuda import host
        from relay.target.cuda.triton_compiler import compile_kernel

        return [
            compile_kernel(text) if host.is_device_text(text) else host.compile_text(text)
            for text in texts
        ]

    def compile_program(self, program: Program, store: Store) -> NativeProgram:
        from relay.target.cuda.program.compile import compile_program

        return compile_program(program, store)

    # --- running

    def support(self, whole: bool, store: Store | None = None) -> dict[str, bytes]:
        if not whole:
            return {}
        from relay.target.cuda import host
        from relay.target.cuda.program.compile import RUNTIME, runtime_object

        return {**host.target().support(True, store), RUNTIME: runtime_object(store)}

    def require_here(self, what: str) -> None:
        from relay.target.cuda.driver import require

        require(self, what)

    @classmethod
    def tensor(cls, data: Any, index: int) -> Any:
        from relay.target.cuda.driver import open_driver
        from relay.target.cuda.tensors import array

        if index:
            raise TargetError.of("tensors are on the first GPU", found=f"cuda({index})")
        return array(data, open_driver())

    def load(
        self,
        kernels: Sequence[Kernel],
        code: Sequence[bytes],
        *,
        threads: int,
        support: Mapping[str, bytes],
    ) -> Loaded:
        from relay.target.cuda.driver import open_driver
        from relay.target.cuda.loaded import DeviceKernels

        return DeviceKernels(open_driver(), kernels, code, threads)

    def executable(self, program: Any, code: Any, *parts: Any, **limits: Any) -> Any:
        if code.program is None:
            from relay.target.cuda.straight_line import DeviceExecutable

            limits = {name: limits[name] for name in ("state", "current", "convention")}
            return DeviceExecutable(program, code, *parts, **limits)
        from relay.target.cuda.program.executable import DeviceProgramExecutable

        return DeviceProgramExecutable(program, code, *parts, **limits)
