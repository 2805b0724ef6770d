"""Divides programs between this compiler and others, by what they take or by measured times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay.driver import compile
from relay.executors.report import table_text, time_text
from relay.external.compiler import ExternalCompiler, find_compiler, plain
from relay.external.divide import divided, external_functions, take_back
from relay.frontend.model import Model, as_module
from relay.immutable import frozen
from relay.ir.expr import Call, Function, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name
from relay.target.target import Target
from relay.transform.infer_type import InferType
from relay.transform.simplify.dynamic_to_static import DynamicToStatic
from relay.transform.simplify.fold_constant import FoldConstant

Compilers = str | ExternalCompiler | Sequence[str | ExternalCompiler]


def partition(model: Model, params: Mapping[str, Any] | None, compilers: Compilers) -> IRModule:
    """The program with what the compilers take as functions of theirs; what several take goes to
    the first.

    `params` become constants, which the compilers see. `relay.compile` has the functions compiled
    by the compilers of their names, so one given as an object has to be registered, too.
    """
    module, own = as_module(model)
    weights = {**own, **(params or {})}
    if weights:
        module["main"] = bind_params_by_name(module["main"], weights)
    module = FoldConstant()(DynamicToStatic()(InferType()(module)))
    many = [compilers] if isinstance(compilers, str | ExternalCompiler) else list(compilers)
    chosen = [find_compiler(one) if isinstance(one, str) else one for one in many]
    return divided(module, chosen)


@frozen
class Cost:
    """The median times of one function, compiled by the external compiler and by Relay."""

    function: str
    compiler: str
    theirs: float  # seconds
    ours: float

    @property
    def is_kept(self) -> bool:
        """Whether the external compiler keeps it."""
        return self.theirs < self.ours


class Costs(tuple[Cost, ...]):
    """What was measured; printed as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [
            (one.function, one.compiler, time_text(one.theirs), time_text(one.ours), _kept(one))
            for one in self
        ]
        return table_text(("function", "compiler", "theirs", "ours", "kept by"), rows, "<<>><")


def _kept(cost: Cost) -> str:
    return cost.compiler if cost.is_kept else "relay"


def partition_by_cost(
    model: Model,
    params: Mapping[str, Any] | None,
    compilers: Compilers,
    *,
    target: str | Target | None = None,
    level: int = 3,
    threads: int | None = None,
    repeat: int = 5,
) -> tuple[IRModule, Costs]:
    """`partition`, where each function stays with its compiler only if that is faster.

    Each is compiled on both sides and timed with random inputs, on this machine and now.
    """
    module = partition(model, params, compilers)
    measured: list[Cost] = []
    for name, function in external_functions(module).items():
        times: list[float] = []
        for one in (_alone(name, function), IRModule({"main": plain(function)})):
            exe = compile(one, target=target, level=level, threads=threads)
            times.append(exe.benchmark(repeat=repeat).median)
        measured.append(Cost(name, str(function.attrs["Compiler"]), *times))
    slower = [cost.function for cost in measured if not cost.is_kept]
    return (take_back(module, slower) if slower else module), Costs(measured)


def _alone(name: str, function: Function) -> IRModule:
    """A program that only calls a function of an external compiler."""
    params = tuple(Var(param.name_hint, param.checked_type) for param in function.params)
    main = Function(params, Call(GlobalVar(name), params))
    return InferType()(IRModule({name: function, "main": main}))
