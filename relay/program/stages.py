"""Staging: what runs once, when the weights are known, and what runs in every call.

A value belongs to `prepare`, whose instructions depend on constants only, or to the function being
lowered. A step of a primitive function goes to `prepare` if all its inputs are there: the whole
call is constant, or the step packs a weight for the next one. A value of `prepare` that a function
reads becomes a constant of the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from relay.analysis import precompute
from relay.ir import expr
from relay.lower.kernel import Kernel, Lowered, Operand, Param, Result, TensorSpec
from relay.nd import NDArray, Weight
from relay.op.tensor.index_checks import check_indices
from relay.program import program as isa
from relay.program.builder import At, Builder
from relay.program.slice import prune

if TYPE_CHECKING:
    from relay.lower.dynamic import Dynamic


CHECK: Final = check_indices.name


class Lowering(Protocol):
    """Lowers primitive functions; the flags say which flattened parameters are constant."""

    def lower(self, function: expr.Function, constant: Sequence[bool]) -> Lowered:
        """Lower a function over known sizes."""

    def lower_dynamic(self, function: expr.Function, constant: Sequence[bool]) -> Dynamic:
        """Lower a function with dynamic dimensions."""


@dataclass(eq=False)
class Stages:
    """The kernels and constants of a program under construction."""

    lowering: Lowering
    prepare: Builder = field(default_factory=lambda: Builder(isa.PREPARE))
    kernels: dict[str, Kernel] = field(default_factory=dict)
    constants: dict[str, isa.Constant] = field(default_factory=dict)
    values: dict[str, NDArray] = field(default_factory=dict)
    given: dict[int, At] = field(default_factory=dict)  # id of an array -> its constant
    prepared: list[isa.Register] = field(default_factory=list)  # the results of prepare
    published: dict[isa.Register, str] = field(
        default_factory=dict
    )  # register of prepare -> constant
    done: dict[tuple[Any, ...], tuple[isa.Register, ...]] = field(default_factory=dict)

    def prepare_function(self) -> isa.Function:
        return prune(self.prepare.returning((), tuple(self.prepared)))

    # --- constants

    def declare(self, name: str, spec: TensorSpec) -> At:
        """A given constant."""
        self.constants[name] = isa.Constant(name, spec)
        return At(self.prepare, self.prepare.load(name, spec))

    def constant(self, data: NDArray) -> At:
        """A constant written in the program; the same array is the same constant."""
        if id(data) not in self.given:
            if isinstance(data, Weight):
                name = data.name
            else:
                name = self.unused_name("constant")
                self.values[name] = data
            self.given[id(data)] = self.declare(name, TensorSpec(data.shape, data.dtype))
        return self.given[id(data)]

    def unused_name(self, stem: str) -> str:
        number = len(self.prepared) if stem == "packed" else len(self.values)
        while (name := f"{stem}_{number}") in self.constants:
            number += 1
        return name

    def register(self, value: At, function: Builder) -> isa.Register:
        """The register of `function` for a value of either stage."""
        if value.stage is function:
            return value.register
        register = value.register
        spec = self.prepare.registers[register]
        assert value.stage is self.prepare and isinstance(spec, TensorSpec)
        root = self.prepare.roots.get(register)
        if root is not None:  # a view costs nothing in either stage
            return function.view(self.register(At(self.prepare, root), function), spec)
        return function.load(self.publish(register), spec)

    def seen(self, value: At, spec: TensorSpec, function: Builder) -> isa.Register:
        """The register of `function` for a value, as a view in the shape that a kernel reads."""
        register = self.register(value, function)
        made = function.registers[register]
        sizes = (*spec.shape, *made.shape) if isinstance(made, TensorSpec) else ()
        if sizes and made != spec and all(isinstance(size, int) for size in sizes):
            return function.view(register, spec)
        return register

    def publish(self, register: isa.Register) -> str:
        """The name of the constant for a register of `prepare`."""
        if (known := self.prepare.loaded.get(register)) is not None:
            return known
        if register not in self.published:
            spec = self.prepare.registers[register]
            assert isinstance(spec, TensorSpec)
            name = self.unused_name("packed")
            self.constants[name] = isa.Constant(name, spec, len(self.prepared))
            self.prepared.append(register)
            self.published[register] = name
        return self.published[register]

    # --- primitive functions

    def steps(
        self,
        lowered: Lowered,
        args: Sequence[At],
        results: Sequence[isa.Spec],
        stage: Builder,
        sizes: Mapping[str, isa.Register] | None = None,
        extents: Sequence[Sequence[isa.Register]] | None = None,
        where: str = "",
    ) -> list[At]:
        """Append the steps of a primitive function; returns its results.

        For dynamic dimensions, `sizes` are the arguments of kernels by name, and `extents` the
        dynamic sizes of each result. `where` is the source location.
        """
        places: dict[Operand, At] = {Param(i): arg for i, arg in enumerate(args)}
        for step in lowered.steps:
            kernel = self.kernels.setdefault(step.kernel.name, step.kernel)
            inputs = [places[place] for place in step.inputs]
            known = all(value.stage is self.prepare for value in inputs)
            assert known or not step.constant, f"{kernel.name} reads what is not constant"
            # a check fails in the run that reaches it
            kept = known and inputs and not kernel.sizes and CHECK not in kernel.operators
            if step.constant or (kept and is_worth_storing(kernel)):
                outputs = self.prepare_step(kernel, [value.register for value in inputs], where)
                made = [At(self.prepare, register) for register in outputs]
            else:
                specs: list[isa.Spec] = list(kernel.outputs)
                allocated: list[Sequence[isa.Register]] = [()] * len(specs)
                for position, place in enumerate(step.outputs):
                    if isinstance(place, Result):
                        specs[position] = results[place.index]
                        allocated[position] = () if extents is None else extents[place.index]
                given = [
                    self.seen(value, spec, stage)
                    for value, spec in zip(inputs, kernel.inputs, strict=True)
                ]
                asked = [sizes[name] for name in kernel.sizes] if sizes is not None else []
                registers = stage.invoke(kernel, given, specs, asked, allocated, where)
                made = [At(stage, register) for register in registers]
            places.update(zip(step.outputs, made, strict=True))
        return [places[Result(i)] for i in range(len(results))]

    def prepare_step(
        self, kernel: Kernel, inputs: Sequence[isa.Register], where: str
    ) -> tuple[isa.Register, ...]:
        """Append a step to `prepare`, once for all uses of a weight."""
        key = (kernel.name, *inputs)
        if key not in self.done:
            self.done[key] = self.prepare.invoke(kernel, inputs, kernel.outputs, where=where)
        return self.done[key]

    def lower(self, function: expr.Function, args: Sequence[At]) -> Lowered:
        """Lower a function over known sizes."""
        return self.lowering.lower(function, self.constant_flags(args))

    def lower_dynamic(self, function: expr.Function, args: Sequence[At]) -> Dynamic:
        """Lower a function with dynamic dimensions."""
        return self.lowering.lower_dynamic(function, self.constant_flags(args))

    def constant_flags(self, args: Sequence[At]) -> tuple[bool, ...]:
        return tuple(arg.stage is self.prepare for arg in args)


def is_worth_storing(kernel: Kernel) -> bool:
    """Whether to precompute what a kernel computes from constants."""
    made, read = (sum(map(isa.nbytes, specs)) for specs in (kernel.outputs, kernel.inputs))
    return precompute.is_worth_storing(made, read)
