"""Calls of primitive functions with dynamic dimensions, as instructions.

    add(%x: Tensor[(?, 8), float32], %y: Tensor[(?, 8), float32])
    ->
    %2: int64 = size %0[0]
    %3: int64 = size %1[0]
    %4: bool = eq %2, %3
    branch %4 ? 1 : 2          block 1: kernels for equal sizes; block 2: those that broadcast

`relay.lower.dynamic` describes the sizes to read, their requirements, the shapes of results and the
kernels to call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relay.errors import VALUE, AnySpan
from relay.extents import EXPECTED, TENSOR_BYTES
from relay.ir.dims import Dim, Symbol
from relay.lower.dynamic import Dynamic, ElementOf, Requirement, Search, Variable, Variant
from relay.lower.kernel import TensorSpec
from relay.lower.sizes import Size
from relay.program import program as isa
from relay.program.builder import At, Builder, place_of
from relay.program.scalar_code import SIZE, emit_dim, literal, operation, size_operation
from relay.program.specs import UNKNOWN
from relay.program.stages import Stages


def emit_dynamic(
    builder: Builder,
    stages: Stages,
    dynamic: Dynamic,
    args: Sequence[At],
    results: Sequence[isa.Spec],
    span: AnySpan | None,
    *,
    only_shapes: bool = False,
    places: Sequence[str] = (),
) -> list[At]:
    """The results of a call. With `only_shapes` the result is a reshaped view of the argument;
    `places` are the source locations of the operators."""
    builder.where = place_of(span)
    call = _Call(builder, stages, args, builder.where, places, only_shapes)
    for variable in dynamic.variables:
        call.read(variable)
    call.require(dynamic.required)
    for search in dynamic.searches:
        call.search(search)
    if len(dynamic.variants) == 1:
        return call.variant(dynamic, dynamic.variants[0], results)
    params = [builder.new(spec) for spec in results]
    join = builder.open(*params)
    for variant in dynamic.variants:
        if variant.conditions:
            chosen, others = builder.open(), builder.open()
            builder.end(isa.Branch(call.holds(variant.conditions), chosen.number, others.number))
            builder.enter(chosen)
        made = call.variant(dynamic, variant, results)
        registers = tuple(stages.register(value, builder) for value in made)
        builder.end(isa.Jump(join.number, registers))
        if variant.conditions:
            builder.enter(others)
    builder.enter(join)
    return [At(builder, register) for register in params]


@dataclass(eq=False)
class _Call:
    """One call of a primitive function, with the sizes known so far."""

    builder: Builder
    stages: Stages
    args: Sequence[At]
    where: str
    places: Sequence[str]
    only_shapes: bool
    sizes: dict[Symbol, isa.Register] = field(default_factory=dict)

    def dim(self, dim: Dim) -> isa.Register:
        return emit_dim(self.builder, dim, self.sizes, self.where)

    def read(self, variable: Variable) -> None:
        source = variable.source
        value = self.args[source.param]
        spec = value.stage.registers[value.register]
        if isinstance(source, ElementOf):
            register = self.element(value, spec, source.index)
        else:
            register = self.builder.new(isa.ScalarSpec(SIZE))
            tensor = self.stages.register(value, self.builder)
            self.builder.add(isa.ReadSize(register, tensor, source.axis))
        self.sizes[Size(variable.name)] = register
        if variable.message:
            zero = literal(self.builder, 0, SIZE)
            least = operation(self.builder, "min", (register, zero), SIZE)
            texts = ("0 or more", VALUE, (register, zero))
            self.builder.add(isa.RequireEqual(least, zero, variable.message, self.where, *texts))

    def element(self, value: At, spec: isa.Spec, index: int) -> isa.Register:
        assert isinstance(spec, TensorSpec | isa.ScalarSpec)
        found = self.stages.register(value, self.builder)
        if isinstance(spec, TensorSpec):
            found = self.builder.emit(isa.ScalarSpec(spec.dtype), isa.ReadElement, found, index)
        return found if spec.dtype == SIZE else operation(self.builder, "cast", (found,), SIZE)

    def require(self, required: Iterable[Requirement]) -> None:
        for one in required:
            left, right = self.dim(one.left), self.dim(one.right)
            texts = (one.expected, one.found, tuple(map(self.dim, one.shown)))
            where = self.places[one.operator] if 0 <= one.operator < len(self.places) else ""
            self.builder.add(
                isa.RequireEqual(left, right, one.message, where or self.where, *texts)
            )

    def require_room(self, shape: Sequence[Dim]) -> None:
        """Require that the number of elements does not overflow; an extent of 0 counts as 1."""
        count = one = literal(self.builder, 1, SIZE)
        for dim in shape:
            extent = operation(self.builder, "max", (self.dim(dim), one), SIZE)
            if count != one:
                extent = size_operation(self.builder, "mul", count, extent, self.where)
            count = extent
        most = literal(self.builder, TENSOR_BYTES - 1, SIZE)
        least = operation(self.builder, "min", (count, most), SIZE)
        message = "a tensor that is computed on the way has too many elements"
        self.builder.add(isa.RequireEqual(count, least, message, self.where, EXPECTED))

    def holds(self, conditions: Sequence[tuple[Dim, Dim]]) -> isa.Register:
        found: isa.Register | None = None
        for left, right in conditions:
            equal = operation(self.builder, "eq", (self.dim(left), self.dim(right)), "bool")
            if found is not None:
                equal = operation(self.builder, "and", (found, equal), "bool")
            found = equal
        assert found is not None
        return found

    def search(self, search: Search) -> None:
        spec = TensorSpec((len(search.names),), SIZE)
        (found,) = self.stages.steps(
            search.lowered, self.args, [spec], self.builder, self.by_name(), [()], self.where
        )
        for index, name in enumerate(search.names):
            self.sizes[Size(name)] = self.element(found, spec, index)
        self.require(search.required)

    def by_name(self) -> dict[str, isa.Register]:
        return {str(size): register for size, register in self.sizes.items()}

    def variant(self, dynamic: Dynamic, variant: Variant, results: Sequence[isa.Spec]) -> list[At]:
        self.require(variant.required)
        for room in variant.rooms:
            self.require_room(room)
        specs: list[isa.Spec] = []
        extents: list[list[isa.Register]] = []
        for position, shape in enumerate(variant.results):
            sizes = tuple(n if isinstance(n, int) else UNKNOWN for n in shape)
            is_counts = position == len(results)
            given = TensorSpec(sizes, SIZE) if is_counts else results[position]
            specs.append(TensorSpec(sizes, given.dtype) if isinstance(given, TensorSpec) else given)
            extents.append([self.dim(n) for n in shape if not isinstance(n, int)])
        if self.only_shapes and isinstance(specs[0], TensorSpec):
            tensor = self.stages.register(self.args[0], self.builder)
            return [At(self.builder, self.builder.view(tensor, specs[0], extents[0]))]
        lowered = variant.lowered
        made = self.stages.steps(
            lowered, self.args, specs, self.builder, self.by_name(), extents, self.where
        )
        return self.counted(made, specs) if dynamic.counted else made

    def counted(self, made: list[At], specs: list[isa.Spec]) -> list[At]:
        """Views of the elements that were written, at the front of what was allocated."""
        *room, counts = made
        width = specs[-1].shape[1] if isinstance(specs[-1], TensorSpec) else 0
        assert isinstance(width, int)
        found: list[At] = []
        for row, (value, spec) in enumerate(zip(room, specs, strict=False)):
            if not isinstance(spec, TensorSpec):
                found.append(value)
                continue
            extents = [
                self.element(counts, specs[-1], row * width + axis)
                for axis in range(len(spec.shape))
            ]
            tensor = self.stages.register(value, self.builder)
            whole = TensorSpec((UNKNOWN,) * len(spec.shape), spec.dtype)
            found.append(At(self.builder, self.builder.view(tensor, whole, extents)))
        return found
