"""The compiler of one design as one of `relay.external`; it loads code without the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay.external.compiler import Callback, ExternalCompiler, Part
from relay.target.accel.config import Config
from relay.target.kernel import Kernel

if TYPE_CHECKING:
    from relay.op.contrib.register import Table


class AccelCompiler(ExternalCompiler):
    """The compiler for one design."""

    name = "accel"  # with the design, for an instance

    def __init__(self, config: Config) -> None:
        self.config = config
        self.name = f"accel -config={config}"  # type: ignore[misc]

    def patterns(self) -> Table:
        from relay.target.accel.offload import patterns

        return patterns(self.name, self.config)

    def compile(self, part: Part) -> bytes:
        from relay.target.accel.parts import compile_part

        return compile_part(part, self.config).to_bytes()

    def load(self, code: bytes, kernel: Kernel) -> Callback:
        from relay.target.accel.device import Device

        return Device.of_kernel(code, kernel)
