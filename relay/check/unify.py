"""Unification: union-find over the holes in types and dimensions.

A hole (`IncompleteType`) is bound to another hole or to a type; `find` follows the bindings and
shortens them. `unify(a, b)` makes two types equal by binding holes, and returns their common form:
where one side has `?` and the other a dimension the result has `?`, because nothing better holds
for both. Dimensions are made equal by solving for a hole where that is possible (`h + 1 == 5`);
an equation without a unique solution is postponed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relay import tree
from relay.errors import RelayError
from relay.ir import dims
from relay.ir.dims import ANY, Dim, Symbol
from relay.ir.types import (
    FuncType,
    IncompleteType,
    Occurs,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    map_leaves,
    substitute,
)
from relay.tree import Steps


class Mismatch(Exception):
    """Two types, or two parts of them, cannot be made equal."""

    def __init__(self, why: str, hint: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


@contextmanager
def _meaningful() -> Iterator[None]:
    """Turns errors about invalid dimensions into a Mismatch."""
    try:
        yield
    except ZeroDivisionError:
        raise Mismatch("a dimension is divided by zero") from None
    except RelayError as error:
        raise Mismatch(str(error)) from None


class Unifier:
    """The bindings of holes. `on_bind(hole)` is called whenever one gets a value."""

    def __init__(self, on_bind: Callable[[IncompleteType, Any], None]) -> None:
        self._bound: dict[IncompleteType, Any] = {}
        self._on_bind = on_bind
        self.postponed: list[tuple[Dim, Dim]] = []

    def find(self, ty: Type) -> Type:
        """The type that `ty` is bound to, at its root: a hole only if nothing is known."""
        if type(ty) is not IncompleteType:
            return ty
        bound = self._bound
        last: Any = ty
        while type(last) is IncompleteType and last in bound:
            last = bound[last]
        while ty is not last and isinstance(ty, IncompleteType):
            following = bound[ty]
            bound[ty] = last
            ty = following
        return last  # type: ignore[no-any-return]

    def resolve(self, ty: Type) -> Type:
        """`ty` with every bound hole filled in.

        Mismatch when a dimension then is invalid: negative, or divided by zero.
        """
        if not ty.occurs & Occurs.HOLE:
            return ty
        if (known := self.find(ty)) is not ty and not known.occurs & Occurs.HOLE:
            return known
        with _meaningful():
            while ty.occurs & Occurs.HOLE:
                filled = map_leaves(ty, self._shallow, Occurs.HOLE)
                if filled is ty or filled == ty:
                    return ty
                ty = filled
        return ty

    def resolve_dim(self, dim: Dim) -> Dim:
        """`dim` with known holes filled in."""
        if type(dim) is int:
            return dim
        with _meaningful():
            while type(dim) is not int:
                filled = dims.substitute(dim, self._shallow)
                if filled == dim:
                    return dim
                dim = filled
        return dim

    def _shallow(self, leaf: Any) -> Any:
        if type(leaf) is IncompleteType:
            return self.find(leaf)
        return leaf

    def holes(self, ty: Type) -> list[IncompleteType]:
        """The unfilled holes in a resolved type."""
        if not ty.occurs & Occurs.HOLE:
            return []
        found: dict[IncompleteType, None] = {}
        for part in tree.postorder(ty):
            if isinstance(part, IncompleteType):
                found[part] = None
            elif isinstance(part, TensorType):
                for dim in part.shape:
                    found.update(
                        dict.fromkeys(a for a in dims.atoms(dim) if isinstance(a, IncompleteType))
                    )
        return list(found)

    # --- binding

    def bind(self, hole: IncompleteType, value: Any) -> None:
        self._bound[hole] = value
        self._on_bind(hole, value)

    def instantiate(self, ty: FuncType) -> FuncType:
        """A polymorphic function at fresh holes."""
        return self.instantiate_at(ty, tuple(IncompleteType(p.kind) for p in ty.type_params))

    @staticmethod
    def instantiate_at(ty: FuncType, args: tuple[Any, ...]) -> FuncType:
        """A polymorphic function at given type arguments."""
        bindings = dict(zip(ty.type_params, args, strict=True))
        with _meaningful():
            return FuncType(
                tuple(substitute(a, bindings) for a in ty.arg_types),
                substitute(ty.ret_type, bindings),
                (),
                tuple(substitute(c, bindings) for c in ty.type_constraints),  # type: ignore[misc]
            )

    # --- unifying

    def unify(self, a: Type, b: Type) -> Type:
        """Make `a` and `b` equal; their common form. Mismatch when that cannot be."""
        a, b = self.find(a), self.find(b)
        if a is b or (not (a.occurs | b.occurs) & Occurs.HOLE and a == b):
            return a
        return tree.run(self._unify(a, b))

    def _unify(self, a: Type, b: Type) -> Steps[Type]:
        a, b = self.find(a), self.find(b)
        if a is b or (not (a.occurs | b.occurs) & Occurs.HOLE and a == b):
            return a
        if isinstance(a, IncompleteType):
            return self._fill(a, b)
        if isinstance(b, IncompleteType):
            return self._fill(b, a)
        match a, b:
            case (TensorType(), TensorType()):
                return self._unify_tensors(a, b)
            case (TupleType(), TupleType()):
                if len(a.fields) != len(b.fields):
                    raise Mismatch(f"tuples of {len(a.fields)} and {len(b.fields)} fields")
                fields = []
                for x, y in zip(a.fields, b.fields, strict=True):
                    fields.append((yield self._unify(x, y)))
                return TupleType(tuple(fields))
            case (FuncType(), FuncType()):
                return self._unify_functions(a, b)  # type: ignore[return-value]
            case (RefType(), RefType()):
                return RefType((yield self._unify(a.value, b.value)))
            case (TypeCall(), TypeCall()):
                if a.func != b.func or len(a.args) != len(b.args):
                    raise Mismatch(f"`{self.resolve(a)}` is not `{self.resolve(b)}`")
                args = []
                for x, y in zip(a.args, b.args, strict=True):
                    args.append((yield self._unify(x, y)))
                return TypeCall(a.func, tuple(args))
        hint = None
        for side in (a, b):
            if isinstance(side, TypeVar):
                hint = f"`{side}` stands for every type here, so it equals no other"
        raise Mismatch(f"`{self.resolve(a)}` is not `{self.resolve(b)}`", hint)

    def _fill(self, hole: IncompleteType, ty: Type) -> Type:
        if not isinstance(ty, IncompleteType) and ty.occurs & Occurs.HOLE:
            ty = self.resolve(ty)
            if hole in self.holes(ty):
                raise Mismatch(
                    f"the type would contain itself: _ = {ty}",
                    "a value cannot be put into itself or applied to itself; "
                    "use a data type for recursive structures",
                )
        self.bind(hole, ty)
        return ty

    def _unify_functions(self, a: FuncType, b: FuncType) -> Steps[Type]:
        params: tuple[TypeVar, ...] = ()
        if [p.kind for p in a.type_params] == [p.kind for p in b.type_params]:
            params = a.type_params
            b = self.instantiate_at(b, params)
        else:
            # one is more polymorphic: it is used at the other's types
            a = self.instantiate(a) if a.type_params else a
            b = self.instantiate(b) if b.type_params else b
        if len(a.arg_types) != len(b.arg_types):
            raise Mismatch(f"functions of {len(a.arg_types)} and {len(b.arg_types)} parameters")
        args = []
        for x, y in zip(a.arg_types, b.arg_types, strict=True):
            args.append((yield self._unify(x, y)))
        result = yield self._unify(a.ret_type, b.ret_type)
        return FuncType(tuple(args), result, params, a.type_constraints)

    def _unify_tensors(self, a: TensorType, b: TensorType) -> TensorType:
        if a.dtype != b.dtype:
            raise Mismatch(f"element types {a.dtype} and {b.dtype}", "convert one with `cast`")
        if len(a.shape) != len(b.shape):
            raise Mismatch(f"ranks {len(a.shape)} and {len(b.shape)}")
        shape = []
        wrong = []
        for axis, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)):
            joined = self.unify_dim(x, y)
            if joined is None:
                wrong.append(f"axis {axis}: {self.resolve_dim(x)} and {self.resolve_dim(y)}")
            shape.append(x if joined is None else joined)
        if wrong:
            raise Mismatch("; ".join(wrong))
        return TensorType(tuple(shape), a.dtype)

    def unify_dim(self, a: Dim, b: Dim) -> Dim | None:
        """Make two dimensions equal; their common form, None when they are never equal."""
        if type(a) is int and type(b) is int:
            return a if a == b else None
        a, b = self.resolve_dim(a), self.resolve_dim(b)
        for hole, other in ((a, b), (b, a)):
            if isinstance(hole, IncompleteType) and (
                not isinstance(other, Symbol) or hole not in dims.atoms(other)
            ):
                self.bind(hole, other)
                return other
        if isinstance(a, dims.Any) or isinstance(b, dims.Any):
            return ANY
        difference = dims.subtract(a, b)
        holes = [h for h in dims.atoms(difference) if isinstance(h, IncompleteType)]
        if not holes:
            return None if dims.equal(a, b) is False else a
        for hole in dict.fromkeys(holes):
            parts = dims.linear_in(difference, hole)
            if parts is None:
                continue
            coefficient, rest = parts
            value = dims.multiply(rest, -1)
            if coefficient in (1, -1):
                return self._solved(hole, dims.multiply(value, coefficient), a)
            if len(set(holes)) == 1:
                return self._solved(hole, _quotient(value, coefficient), a)
        self.postponed.append((a, b))
        return a

    def _solved(self, hole: IncompleteType, solution: Dim | None, a: Dim) -> Dim | None:
        """Bind a dimension's hole to the solution of an equation; returns the resolved `a`."""
        if solution is None or (isinstance(solution, int) and solution < 0):
            return None
        self.bind(hole, solution)
        return self.resolve_dim(a)

    def settle_postponed(self) -> list[tuple[Dim, Dim]]:
        """Retry the equations that had no unique solution; returns those that do not hold."""
        pending, self.postponed = self.postponed, []
        return [(a, b) for a, b in pending if self.unify_dim(a, b) is None]


def _quotient(value: Dim, coefficient: int) -> Dim | None:
    """The h with coefficient * h == value; whether a dynamic value is a multiple is checked at run
    time."""
    exact = dims.exact_quotient(value, coefficient)
    if exact is not None or isinstance(value, int):
        return exact
    return dims.floor_divide(value, coefficient)
