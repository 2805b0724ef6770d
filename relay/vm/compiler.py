"""From a module to an executable of the virtual machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.errors import RelayError
from relay.ir.expr import Expr, Function
from relay.ir.module import HasModule, IRModule
from relay.target.target import Target, wanted
from relay.transform.context import PassContext
from relay.vm.executable import Executable

Model = IRModule | Function | Expr | HasModule


def compile(
    mod: Model,
    target: str | Target | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    target_host: Any = None,
    threads: int | None = None,
    checked: bool = False,
) -> Executable:
    """Compile `mod` at the level of the PassContext; `params` are weights, by name. With `checked`
    an index outside of its axis ends the run. `target_host` is the target's kind of machine."""
    from relay.driver import compile_program  # the driver is a layer above

    level = PassContext.current().opt_level
    target = target if target_host is None else Target(wanted(target), target_host)
    made = compile_program(mod, params, target=target, level=level, checked=checked, whole=True)
    return Executable(made.program, made.code, made.weights, threads, state=made.state)


class VMCompiler:
    """The same, step by step."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._executable: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Weights, by name."""
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        return dict(self._params)

    def optimize(
        self,
        mod: Model,
        target: str | Target | None = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, Any]]:
        """The module as it is lowered, and the weights."""
        from relay.driver import as_module  # the driver is above
        from relay.pipeline import whole_program
        from relay.pipeline.weights import constant_weights, given_weights

        target = target if target_host is None else Target(wanted(target), target_host)
        if params is not None:
            self.set_params(params)
        module, _ = as_module(mod)
        module = constant_weights(module, given_weights(module["main"], self._params))
        return whole_program(PassContext.current().opt_level, target)(module), self.get_params()

    def lower(
        self, mod: Model, target: str | Target | None = None, target_host: Any = None
    ) -> None:
        """Compile `mod`."""
        self._executable = compile(mod, target, self._params, target_host=target_host)

    def codegen(self) -> None:
        """Nothing is left to do: kernels are compiled as they are lowered."""
        self.get_exec()

    def get_exec(self) -> Executable:
        if self._executable is None:
            raise RelayError("there is no executable before lower()")
        return self._executable
