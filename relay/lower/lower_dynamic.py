"""Lowers primitive functions with dynamic dimensions: one set of kernels for all sizes.

Every dynamic dimension of a parameter becomes a variable; the type relations of the operators give
the shapes of results as dimensions over the variables. Equalities that a relation requires and that
cannot be proven are checked at run time.

`?` may be 1 at run time and broadcast; a named dimension never does. So where the extents of two
operands may differ there are two variants: in the common one they are equal, in the other an
operand of extent 1 is read at index 0.

Where sizes depend on values, an operator computes them (`OpDef.extents`) or their upper bounds
(`OpDef.capacity`) from elements of the parameters. The program reads single elements; anything
else is a separate kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from relay import dtypes, te, tree
from relay.errors import VALUE, DiagnosticError, LowerError
from relay.extents import EXPECTED, TENSOR_BYTES
from relay.ir import dims
from relay.ir.dims import Dim, Symbol
from relay.ir.expr import Call, Expr, Function, Var
from relay.ir.names import as_word
from relay.ir.types import (
    IncompleteType,
    Occurs,
    TensorType,
    TupleType,
    Type,
    is_dynamic,
    map_leaves,
)
from relay.lower.dynamic import Dynamic, ElementOf, Requirement, Search, SizeOf, Variable, Variant
from relay.lower.kernel import Lowered, Options
from relay.lower.lower import lower_computed, require_supported
from relay.lower.sizes import Size, from_te, sizes_in, to_te
from relay.lower.to_compute import Computed, Shapes, Value, error_at, keywords, to_compute
from relay.op.dyn.form import STATIC_FORM
from relay.op.opdef import Condition, OpDef
from relay.op.site import Site, better_known
from relay.target.target import Target
from relay.te.compute import Computation, Tensor
from relay.te.expr import INDEX, Binary, Cast, Compare, Read, remake, substitute
from relay.te.intervals import Interval
from relay.te.overflow import overflow
from relay.te.simplify import Simplifier

LENGTH: Interval = (0, TENSOR_BYTES - 1)  # the range of sizes


def lower_dynamic(
    function: Function, constant: Sequence[bool], target: Target, options: Options | None = None
) -> Dynamic:
    """The kernels of a primitive function with dynamic dimensions.

    `constant[i]`: flattened parameter i is constant.
    """
    options = options or Options()
    require_supported(function, target)
    params = _Params(function)
    general = _inferred(function, params, together=False)
    found = [general]
    if general.stretched:
        with suppress(DiagnosticError):  # some operand must be broadcast
            found.insert(0, _inferred(function, params, together=True))
    variants = []
    for shapes in found:
        lowered = lower_computed(shapes.computed, constant, target, options, shapes.variables)
        results = tuple(
            tuple(shapes.dim_of(extent) for extent in tensor.shape)
            for tensor in shapes.computed.outputs
        )
        required = tuple(shapes.required)
        rooms = shapes.other_rooms(results)
        variants.append(Variant(tuple(shapes.conditions), required, lowered, results, rooms))
    searches = tuple(
        Search(
            lower_computed(one.computed, constant, target, options, general.variables),
            one.names,
            tuple(one.required),
        )
        for one in general.searches
    )
    made = Dynamic(
        (*params.variables, *general.elements.values()),
        tuple(params.required),
        tuple(variants),
        searches,
        general.counted,
    )
    return _without_unused(made)


# --- parameters ---------------------------------------------------------------------------------


class _Params:
    """The parameters of a function, with a variable for every dynamic dimension."""

    def __init__(self, function: Function) -> None:
        self.types: dict[Var, Type] = {}
        self.variables: list[Variable] = []
        self.required: list[Requirement] = []
        self.anonymous: set[Symbol] = set()  # the variables that may be 1
        self._named: dict[Symbol, Dim] = {}
        self._opaque: dict[Dim, Dim] = {}  # dimensions that cannot be solved for their symbols
        self._names: set[str] = set()
        axes: list[tuple[Dim, Size, str]] = []
        count = 0
        for param in function.params:
            self._names.update(_word(atom) for atom in _symbols(param.checked_type))
        for param in function.params:
            fields = []
            for ty in _tensors(param.checked_type, param):
                shape = []
                for axis, dim in enumerate(ty.shape):
                    shape.append(self._size(dim, count, axis, param.name_hint, axes))
                fields.append(TensorType(tuple(shape), ty.dtype))
                count += 1
            self.types[param] = _regrouped(param.checked_type, iter(fields))
        self._solve(axes)
        for param, given in self.types.items():
            tensors = (
                TensorType(tuple(map(self._settled, one.shape)), one.dtype)
                for one in _tensors(given, param)
            )
            self.types[param] = _regrouped(given, tensors)

    def _size(
        self, dim: Dim, param: int, axis: int, name: str, axes: list[tuple[Dim, Size, str]]
    ) -> Dim:
        if isinstance(dim, int):
            return dim
        where = SizeOf(param, axis)
        if isinstance(dim, dims.Any):
            size = self.fresh(f"d{len(self.variables)}")
            self.anonymous.add(size)
        elif dim in self._named or not _is_variable(dim):
            size = self.fresh(f"{name}_{axis}")
            axes.append((dim, size, f"size {axis} of parameter `%{name}` is not {_spelled(dim)}"))
        else:
            assert isinstance(dim, Symbol)
            size = Size(_word(dim))
            if any(one.name == size.name for one in self.variables):
                size = self.fresh(size.name)
            self._named[dim] = size
        self._names.add(size.name)
        self.variables.append(Variable(size.name, where))
        return size if isinstance(dim, dims.Any) else dim

    def fresh(self, name: str) -> Size:
        """A size with an unused name; the same again until that name is taken."""
        while name in self._names:
            name += "_"
        return Size(name)

    def _solve(self, axes: list[tuple[Dim, Size, str]]) -> None:
        """Solve for symbols that occur in expressions only; require the other sizes to agree."""
        unsolved = list(axes)
        while solved := [one for one in unsolved if self._tells(*one[:2])]:
            unsolved = [one for one in unsolved if one not in solved]
        for dim, size, _ in unsolved:
            if _unknown(self._settled(dim)):
                self._opaque[dim] = size  # `m + n`, with both unknown
        for dim, size, message in axes:
            known = self._settled(dim)
            if dims.equal(size, known) is not True:
                self.required.append(Requirement(size, known, message))

    def _tells(self, dim: Dim, size: Size) -> bool:
        """Solve a dimension for its only unknown symbol, if it is linear; whether that worked."""
        known = self._settled(dim)
        match list(_unknown(known)):
            case [symbol] if (parts := dims.linear_in(known, symbol)) is not None:
                coefficient, rest = parts
                self._named[symbol] = dims.floor_divide(dims.subtract(size, rest), coefficient)
                return True
        return False

    def _settled(self, dim: Dim) -> Dim:
        """A dimension over sizes."""
        if dim in self._opaque:
            return self._opaque[dim]
        return dims.substitute(dim, lambda symbol: self._named.get(symbol, symbol))


def _unknown(dim: Dim) -> set[Symbol]:
    """The unsolved symbols of a dimension."""
    return {symbol for symbol in dims.atoms(dim) if not isinstance(symbol, Size)}


def _word(symbol: Symbol) -> str:
    """The name of a symbol in the text form, which is the same in all processes."""
    return as_word(str(symbol), "n")


def _spelled(dim: Dim) -> Dim:
    """A dimension over these names."""
    return dims.substitute(dim, lambda symbol: Size(_word(symbol)))


def _is_variable(dim: Dim) -> bool:
    return isinstance(dim, Symbol) and [*dims.atoms(dim)] == [dim]


def _tensors(ty: Type, param: Var) -> list[TensorType]:
    """The flattened tensors of a parameter."""
    found: list[TensorType] = []
    pending = [ty]
    while pending:
        part = pending.pop()
        if isinstance(part, TupleType):
            pending += reversed(part.fields)
        elif isinstance(part, TensorType):
            found.append(part)
        else:
            raise error_at(param, f"a parameter of a kernel is a tensor, found {part}")
    return found


def _symbols(ty: Type) -> set[Symbol]:
    return {
        atom
        for part in tree.postorder(ty)
        if isinstance(part, TensorType)
        for dim in part.shape
        for atom in dims.atoms(dim)
    }


def _regrouped(ty: Type, tensors: Any) -> Type:
    """Tensors in tuples nested as in `ty`."""

    def walk(part: Type) -> tree.Steps[Type]:
        if not isinstance(part, TupleType):
            following: Type = next(tensors)
            return following
        return TupleType(tuple((yield tree.gather(map(walk, part.fields)))))

    return tree.run(walk(ty))


# --- inference ----------------------------------------------------------------------------------


def _inferred(function: Function, params: _Params, together: bool) -> _DynamicShapes:
    """The shapes and tensors of a function, inferred until no further equality is learned."""
    bound: dict[Symbol, Dim] = {}
    kept: list[Requirement] = []
    conditions: list[tuple[Dim, Dim]] = []
    while True:
        shapes = _DynamicShapes(params, bound, together)
        shapes.computed = to_compute(function, shapes)
        if not shapes.learned:
            break
        # equalities change the types, and what follows from them
        for size, dim in shapes.learned.items():
            bound = {one: _put(other, {size: dim}) for one, other in bound.items()}
            bound[size] = dim
        kept += [one for one in shapes.required if one.left in shapes.learned]
        conditions += shapes.learned_by
    shapes.required = [*kept, *shapes.required]
    shapes.conditions = [*conditions, *shapes.conditions]
    return shapes


def _put(dim: Dim, bound: Mapping[Symbol, Dim]) -> Dim:
    return dims.substitute(dim, lambda symbol: bound.get(symbol, symbol))


@dataclass
class _SizeSearch:
    """Dynamic sizes that are computed from values."""

    computed: Computed
    names: tuple[str, ...]
    required: list[Requirement] = field(default_factory=list)


class _DynamicShapes(Shapes):
    """The shapes of one variant: operands that may broadcast have equal extents (`together`), or
    any."""

    computed: Computed

    def __init__(self, params: _Params, bound: Mapping[Symbol, Dim], together: bool) -> None:
        self.params = params
        self.bound = bound
        self.together = together
        self.sizes: dict[str, te.Extent] = {}
        self.anonymous = set(params.anonymous)
        self.learned: dict[Symbol, Dim] = {}
        self.required: list[Requirement] = []
        self.conditions: list[tuple[Dim, Dim]] = []
        self.learned_by: list[tuple[Dim, Dim]] = []  # conditions from which a size follows
        self.stretched = False
        self.counted = False
        self.operator = -1  # the number of the current call
        self.calls = 0  # of operators whose result sizes depend on values
        self.elements: dict[ElementOf, Variable] = {}
        self.searches: list[_SizeSearch] = []
        self.inputs: list[te.Tensor] = []
        # the shapes of all results, by their unordered extents
        self.rooms: dict[frozenset[tuple[Dim, int]], tuple[Dim, ...]] = {}

    @property
    def variables(self) -> list[te.Extent]:
        return list(self.sizes.values())

    # --- shapes

    def type_of(self, param: Var) -> Type:
        given = self.params.types[param]
        return map_leaves(given, lambda leaf: self.bound.get(leaf, leaf), Occurs.VARIABLE)

    def started(self, inputs: Sequence[te.Tensor]) -> None:
        self.inputs = list(inputs)

    def extent(self, dim: Dim, expr: Expr) -> te.Expr:
        for name in sorted(sizes_in([dim])):
            if name not in self.sizes:
                self.sizes[name] = te.Extent(INDEX, name)
        return to_te(dim, self.sizes)

    def result(self, call: Call, op: OpDef, args: Sequence[Value]) -> Type:
        self.operator += 1
        types = tuple(self._type(arg) for arg in args)
        attrs = op.make_attrs({}) if call.attrs is None else call.attrs
        if op.relation is None:
            raise error_at(call, f"operator `{op.name}` has no type relation")
        names = [name for name, _ in op.arguments]
        site = _Site(
            op.name,
            names,
            types,
            IncompleteType(),
            attrs,
            call.span,
            lambda index, ty: None,
            lambda a, b: self.equal(op, a, b, "the shapes of the arguments do not fit"),
            LowerError,
            shapes=self,
            op=op,
        )
        made = op.relation(site)
        if made is None:
            raise error_at(call, f"the types of the arguments do not determine `{op.name}`")
        if is_dynamic(made) or op.capacity is not None or op.has_attr(STATIC_FORM):
            made = self._found(call, op, args, made)
        self._natural(op, made)
        return made

    # --- expressions -> dimensions

    def _type(self, value: Value) -> Type:
        if isinstance(value, tuple):
            return TupleType(tuple(map(self._type, value)))
        return TensorType(tuple(map(self.dim_of, value.shape)), value.dtype)

    def dim_of(self, extent: te.Expr) -> Dim:
        """An extent as a dimension."""
        names: dict[te.Expr, str] = {var: name for name, var in self.sizes.items()}

        def leaf(part: te.Expr) -> Dim | None:
            return Size(names[part]) if part in names else None

        found = from_te(extent, leaf)
        if found is None:
            raise LowerError.of(f"`{extent!r}` is no size")
        return found

    # --- requirements

    def equal(self, op: OpDef, a: Dim, b: Dim, message: str) -> bool:
        """Whether two dimensions can be equal; if so, that is required at run time."""
        if isinstance(a, dims.Any) or isinstance(b, dims.Any) or dims.equal(a, b) is True:
            return True  # unknown sizes are computed from values
        if isinstance(a, int) and isinstance(b, int):
            return False
        text = f"`{op.name}`: {message}"
        left, right = self._learn(a, b) or (a, b)
        self.require(left, right, text)
        return True

    def require(
        self,
        left: Dim,
        right: Dim,
        message: str,
        expected: str = VALUE,
        found: str = VALUE,
        shown: tuple[Dim, ...] = (),
    ) -> None:
        """Require two dimensions to be equal at run time."""
        if not any((one.left, one.right) == (left, right) for one in self.required):
            texts = (message, expected, found, shown)
            self.required.append(Requirement(left, right, *texts, self.operator))

    def require_stretched(self, a: Dim, b: Dim, stretched: Sequence[Dim], message: str) -> None:
        """Require two dimensions to be equal, or one of `stretched` to be 1."""
        matters: Dim = 1  # 0 if one is 1
        for dim in stretched:
            distance = dims.maximum(dims.subtract(dim, 1), dims.subtract(1, dim))
            matters = dims.multiply(matters, dims.minimum(distance, 1))
        left, right = dims.multiply(a, matters), dims.multiply(b, matters)
        self.require(left, right, message, f"{VALUE}, or 1", VALUE, (a, b))

    def _learn(self, a: Dim, b: Dim) -> tuple[Symbol, Dim] | None:
        """Solve two equal dimensions for an anonymous size; returns it and its value."""
        difference = dims.subtract(a, b)
        there = {*dims.atoms(difference)}
        for variable in reversed(self.params.variables):  # the first one is kept
            symbol = Size(variable.name)
            if symbol not in there or symbol not in self.anonymous or symbol in self.learned:
                continue
            parts = dims.linear_in(difference, symbol)
            if parts is not None and parts[0] in (1, -1):
                value = _put(dims.multiply(parts[1], -parts[0]), self.learned)
                if symbol in dims.atoms(value) or (isinstance(value, int) and value < 0):
                    continue
                self.learned = {s: _put(d, {symbol: value}) for s, d in self.learned.items()}
                self.learned[symbol] = value
                return symbol, value
        return None

    def broadcast(self, op: OpDef, a: Dim, b: Dim) -> Dim:
        """The result extent of two operands, one of which may broadcast."""
        self.stretched = True
        if self.together:
            self.assume(a, b)
            return better_known(a, b)
        message = f"`{op.name}`: operands do not broadcast"
        first, second = self.may_be_one(a), self.may_be_one(b)
        self.require_stretched(a, b, [dim for dim in (a, b) if self.may_be_one(dim)], message)
        if first and second:
            least = dims.minimum(a, b)
            return dims.multiply(dims.maximum(a, b), dims.minimum(least, 1))
        return b if first else a

    def assume(self, a: Dim, b: Dim) -> None:
        """Add the condition that two dimensions are equal to this variant."""
        self.stretched = True
        kept = self.conditions if self._learn(a, b) is None else self.learned_by
        kept.append((a, b))

    def may_be_one(self, dim: Dim) -> bool:
        """Whether a dimension depends on an anonymous one (`?`), which may be 1."""
        return any(symbol in self.anonymous for symbol in dims.atoms(dim))

    def _natural(self, op: OpDef, ty: Type) -> None:
        for part in tree.postorder(ty):
            if isinstance(part, TensorType):
                self.rooms.setdefault(frozenset(Counter(part.shape).items()), part.shape)
                for dim in part.shape:
                    self.natural(op, dim, "a result would have less than no elements")

    def other_rooms(self, results: Sequence[tuple[Dim, ...]]) -> tuple[tuple[Dim, ...], ...]:
        """The shapes of intermediate tensors; those of parameters and results are checked when they
        are allocated."""
        given = [tuple(map(self.dim_of, tensor.shape)) for tensor in self.inputs]
        there = {frozenset(Counter(shape).items()) for shape in (*given, *results)}
        return tuple(
            shape
            for extents, shape in self.rooms.items()
            if extents not in there and not all(isinstance(dim, int) for dim in shape)
        )

    def natural(self, op: OpDef, dim: Dim, message: str) -> None:
        """Require a dimension to be 0 or more."""
        sign = dims.sign_of(dim)
        if not isinstance(dim, dims.Any) and (sign is None or sign < 0):
            texts = ("0 or more", VALUE, (dim, 0))
            self.require(dims.minimum(dim, 0), 0, f"`{op.name}`: {message}", *texts)

    def some(self, op: OpDef, extent: Dim, wanted: Sequence[Dim], message: str) -> None:
        """Require a dimension to be 1 or more unless one of `wanted` is 0."""
        matters: Dim = 1  # 0 if the result is empty
        for dim in wanted:
            matters = dims.multiply(matters, dims.minimum(dim, 1))
        there = dims.minimum(extent, 1)
        if dims.equal(there, 1) is not True:
            texts = (f"`{op.name}`: {message}", "1 or more", VALUE, (extent, 1))
            self.require(dims.multiply(there, matters), matters, *texts)

    # --- sizes that depend on values

    def _found(self, call: Call, op: OpDef, args: Sequence[Value], ty: Type) -> Type:
        """The type of a result whose sizes the operator computes from the arguments."""
        self.calls += 1
        tell = op.capacity or op.extents
        if tell is None:
            raise error_at(call, f"operator `{op.name}` does not say how its shape is found")
        needs: list[Condition] = []
        more: dict[str, Any] = {}
        if op.capacity is not None:
            self.counted = True
        else:
            more["need"] = lambda *said: needs.append(Condition(*said))
        shapes = tell(*args, **more, **keywords(call, op))
        types = [one for one in tree.postorder(ty) if isinstance(one, TensorType)]
        wanted = [te.index(extent) for shape in shapes for extent in shape]
        known: list[Dim] = [dim for one in types for dim in one.shape]
        if len(shapes) != len(types) or len(wanted) != len(known):
            raise error_at(call, f"`{op.name}` says the sizes of other results than it has")
        found = self._dims(op, known, wanted, needs)
        tensors = []
        for one in types:
            tensors.append(TensorType(tuple(found[: len(one.shape)]), one.dtype))
            found = found[len(one.shape) :]
        return _regrouped(ty, iter(tensors))

    def _dims(
        self,
        op: OpDef,
        known: Sequence[Dim],
        wanted: Sequence[te.Expr],
        needs: Sequence[Condition],
    ) -> list[Dim]:
        found: list[Dim] = []
        searched: dict[te.Expr, Size] = {}
        required: list[Requirement] = []
        computed: list[te.Expr] = []  # must not overflow
        natural: dict[te.Expr, str] = {}  # numbers, and the message for negative ones
        for need in needs:
            simple = self._settled(need.condition)
            if isinstance(simple, te.Const) and simple.value:
                continue
            natural.update((number, need.message) for number in _not_negative(simple))
            flag = self.params.fresh(f"s{self.calls}_need{len(required)}")
            searched[te.select(simple, te.index(0), te.index(1))] = flag
            computed.append(simple)
            shown = []
            for place, number in enumerate(need.shown):
                value = self._settled(te.index(number))
                dim = from_te(value, partial(self._leaf, op, {}))
                if dim is None:
                    name = f"s{self.calls}_need{len(required)}_{place}"
                    dim = searched.setdefault(value, self.params.fresh(name))
                shown.append(dim)
            message = f"`{op.name}`: {need.message}"
            texts = (message, need.expected, need.found, tuple(shown))
            required.append(Requirement(flag, 0, *texts, self.operator))
        for position, (dim, extent) in enumerate(zip(known, wanted, strict=True)):
            if not isinstance(dim, dims.Any) and op.capacity is None:
                found.append(dim)
                continue
            simple = self._settled(extent)
            # a formula may contain negative numbers; a size itself must not be negative
            leaves = {_without_casts(simple): "a size is negative"} | natural
            made = from_te(simple, partial(self._leaf, op, leaves))
            if made is None:
                if simple not in searched:
                    searched[simple] = self.params.fresh(f"s{self.calls}_{position}")
                    self.anonymous.add(searched[simple])
                computed.append(simple)
                made = searched[simple]
            found.append(made)
        if (wrapped := self._overflow(computed)) is not None:
            searched[wrapped] = self.params.fresh(f"s{self.calls}_over")
            message = f"`{op.name}`: a size is too large"
            required.append(Requirement(searched[wrapped], 0, message, EXPECTED))
        if searched:
            self._search(list(searched), tuple(size.name for size in searched.values()), required)
        return found

    def _overflow(self, values: Sequence[te.Expr]) -> te.Expr | None:
        """0, or an operand with which a value overflows; None if none can."""
        ranges: dict[te.Var, Interval] = dict.fromkeys(self.sizes.values(), LENGTH)
        parts = [part for value in values if not _is_zero(part := overflow(value, ranges))]
        if not parts:
            return None
        found = parts[-1]
        for part in reversed(parts[:-1]):
            found = te.select(te.equal(part, 0), found, part)
        return found

    def _search(
        self, values: list[te.Expr], names: tuple[str, ...], required: list[Requirement]
    ) -> None:
        """Compute values as a tensor, before anything is allocated."""

        def element(place: te.Expr) -> te.Expr:
            chosen = values[-1]
            for number in reversed(range(len(values) - 1)):
                chosen = te.select(te.equal(place, number), values[number], chosen)
            return chosen

        tensor = te.compute((len(values),), element, "sizes")
        self.searches.append(
            _SizeSearch(Computed(tuple(self.inputs), (tensor,), ()), names, required)
        )

    def _settled(self, expr: te.Expr) -> te.Expr:
        """The expression with tensors inlined up to reductions, simplified."""

        def step(before: te.Expr, after: te.Expr) -> te.Expr:
            if isinstance(after, Read) and isinstance(after.source, Tensor):
                op = after.source.op
                if isinstance(op, Computation) and op.reduction is None:
                    places: dict[te.Var, te.Expr] = {}
                    places.update(zip(op.axes, after.indices, strict=True))
                    return substitute(op.bodies[after.source.position], places)
            return remake(before, after)

        simplify = Simplifier()
        while True:
            following = simplify(tree.transform(expr, step))
            if following == expr:
                return expr
            expr = following

    def _leaf(self, op: OpDef, natural: Mapping[te.Expr, str], part: te.Expr) -> Dim | None:
        """A size, or an element of an integer parameter that must not be negative."""
        if isinstance(part, te.Var):
            return self.dim_of(part) if part in self.sizes.values() else None
        part = _without_casts(part)
        if not isinstance(part, Read) or not dtypes.is_integer(part.dtype):
            return None
        if part not in natural and part.dtype not in dtypes.UNSIGNED:
            return None
        if not all(isinstance(place, te.Const) for place in part.indices):
            return None
        number = next((i for i, one in enumerate(self.inputs) if one is part.source), None)
        shape = [n.value for n in part.source.shape if isinstance(n, te.Const)]
        if number is None or len(shape) < part.source.rank:
            return None
        index = 0
        for place, extent in zip(part.indices, shape, strict=True):
            assert isinstance(place, te.Const)
            index = index * int(extent) + int(place.value)
        where = ElementOf(number, index)
        if where not in self.elements:
            size = self.params.fresh(f"e{number}_{index}")
            self.anonymous.add(size)
            message = f"`{op.name}`: {natural.get(part, 'a size is negative')}"
            self.elements[where] = Variable(size.name, where, message)
        return Size(self.elements[where].name)


@dataclass(slots=True)
class _Site(Site):
    """A call of an operator over dynamic dimensions."""

    shapes: _DynamicShapes = field(kw_only=True)
    op: OpDef = field(kw_only=True)

    def require_equal(self, a: Dim, b: Dim, what: str) -> Dim:
        if not self.shapes.equal(self.op, a, b, f"{what} differ"):
            self.fail(f"{what} differ", f"{what} equal", f"{a} and {b}")
        return better_known(a, b)

    def broadcast(self, a: Dim, b: Dim) -> Dim | None:
        if a == 1 or b == 1:
            return b if a == 1 else a
        if dims.equal(a, b) is True:
            return better_known(a, b)
        if self.shapes.may_be_one(a) or self.shapes.may_be_one(b):
            return self.shapes.broadcast(self.op, a, b)
        message = "operands do not broadcast"
        return better_known(a, b) if self.shapes.equal(self.op, a, b, message) else None

    def stretches(self, extent: Dim, wanted: Dim) -> bool:
        if extent == 1 or dims.equal(extent, wanted) is True:
            return True
        message = "the shape does not broadcast"
        if not self.shapes.may_be_one(extent):
            return self.shapes.equal(self.op, extent, wanted, message)
        if self.shapes.together:
            self.shapes.assume(extent, wanted)
        else:
            self.shapes.stretched = True
            text = f"`{self.op.name}`: {message}"
            self.shapes.require_stretched(extent, wanted, [extent], text)
        return True

    def is_dynamic(self, dim: Dim) -> bool:
        return isinstance(dim, dims.Any) or self.shapes.may_be_one(dim)

    def require_multiple(self, dim: Dim, of: Dim, message: str, expected: str, found: str) -> None:
        if of == 0:
            return
        whole = dims.multiply(dims.floor_divide(dim, of), of)
        if not self.shapes.equal(self.op, whole, dim, message):
            self.fail(message, expected, found)

    def require_natural(self, dim: Dim, message: str, expected: str, found: str) -> None:
        if isinstance(dim, int):
            self.require(dim >= 0, message, expected, found)
        else:
            self.shapes.natural(self.op, dim, message)

    def require_some(
        self, extent: Dim, wanted: Sequence[Dim], message: str, expected: str, found: str
    ) -> None:
        if all(isinstance(dim, int) for dim in (extent, *wanted)):
            Site.require_some(self, extent, wanted, message, expected, found)
        else:
            self.shapes.some(self.op, extent, wanted, message)


# --- helpers ------------------------------------------------------------------------------------


def _not_negative(condition: te.Expr) -> Iterator[te.Expr]:
    """The numbers that a condition requires to be 0 or more."""
    pending = [condition]
    while pending:
        match pending.pop():
            case Binary(op="and", left=left, right=right):
                pending += [left, right]
            case Compare(op="ge", left=number, right=te.Const(value=bound)) if bound >= 0:
                yield _without_casts(number)
            case Compare(op="le", left=te.Const(value=bound), right=number) if bound >= 0:
                yield _without_casts(number)


def _is_zero(expr: te.Expr) -> bool:
    return isinstance(expr, te.Const) and not expr.value


def _without_casts(number: te.Expr) -> te.Expr:
    while isinstance(number, Cast):
        number = number.operand
    return number


def _without_unused(made: Dynamic) -> Dynamic:
    """Remove unused variables."""
    used = {name for one in made.variants for name in _names(one.lowered)}
    used |= {name for one in made.searches for name in _names(one.lowered)}
    wanted: list[Dim] = []
    for one in made.variants:
        wanted += [dim for shape in (*one.results, *one.rooms) for dim in shape]
        wanted += [dim for pair in one.conditions for dim in pair]
    required = [made.required, *(one.required for one in made.variants)]
    required += [one.required for one in made.searches]
    for requirement in chain.from_iterable(required):
        wanted += [requirement.left, requirement.right, *requirement.shown]
    used |= sizes_in(wanted)
    kept = tuple(one for one in made.variables if one.name in used)
    return Dynamic(kept, made.required, made.variants, made.searches, made.counted)


def _names(lowered: Lowered) -> set[str]:
    return {name for step in lowered.steps for name in step.kernel.sizes}
