"""The site of a type relation: one use of an operator, with the types known so far.

A relation is a function `Site -> Type | None`. It returns the type of the result, or None while it
lacks information (the solver comes back later), or fails through the site, which knows the source
position. It may also infer backwards: `site.assign(1, …)` gives the second argument a type,
`site.result` is the partially known type of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NoReturn

from relay import dtypes
from relay.errors import AnySpan, Diagnostic, DiagnosticError, EvaluationError, TypeCheckError
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.types import IncompleteType, TensorType, TupleType, Type


@frozen
class Elements:
    """A class of element types."""

    name: str
    allowed: frozenset[str]


BOOLEAN = Elements("bool", frozenset(("bool",)))
# microscaling floats are for storage only
FLOATING = Elements("floating-point", frozenset((*dtypes.FLOATS, *dtypes.FLOAT8)))
INTEGER = Elements("integer", frozenset((*dtypes.SIGNED, *dtypes.UNSIGNED)))
NUMERIC = Elements("numeric", FLOATING.allowed | INTEGER.allowed)
BITS = Elements("integer or bool", INTEGER.allowed | BOOLEAN.allowed)
ADDABLE = Elements("numeric or bool", NUMERIC.allowed | BOOLEAN.allowed)


@dataclass(slots=True)
class Site:
    """One use of an operator. `args` and `result` are resolved as far as the solver got."""

    name: str
    arguments: Sequence[str]
    args: tuple[Type, ...]
    result: Type
    attrs: Any
    span: AnySpan | None
    # provided by the solver
    assign_argument: Callable[[int, Type], object]
    unify_dims: Callable[[Dim, Dim], bool]
    error: type[DiagnosticError] = TypeCheckError

    # --- looking

    def tensor(self, index: int, rank: int | None = None) -> TensorType | None:
        """Argument `index` as a tensor type; None while it is unknown."""
        ty = self.args[index]
        if isinstance(ty, IncompleteType):
            return None
        if not isinstance(ty, TensorType):
            self.fail(f"{self.argument(index)} must be a tensor", "a tensor", str(ty))
        if rank is not None and len(ty.shape) != rank:
            self.fail(
                f"{self.argument(index)} has the wrong rank", f"a tensor of rank {rank}", str(ty)
            )
        return ty

    def tensors(self, rank: int | None = None) -> tuple[TensorType, ...] | None:
        """All arguments as tensor types; None while one is unknown."""
        found = [self.tensor(i, rank) for i in range(len(self.args))]
        return None if any(f is None for f in found) else tuple(found)  # type: ignore[arg-type]

    def tensor_tuple(self, index: int) -> tuple[TensorType, ...] | None:
        """Argument `index` as a tuple of tensors; None while part of it is unknown."""
        ty = self.args[index]
        if isinstance(ty, IncompleteType):
            return None
        if not isinstance(ty, TupleType):
            self.fail(
                f"{self.argument(index)} must be a tuple of tensors", "a tuple of tensors", str(ty)
            )
        for part in ty.fields:
            if isinstance(part, IncompleteType):
                return None
            if not isinstance(part, TensorType):
                self.fail(f"{self.argument(index)} must hold tensors only", "tensors", str(ty))
        return ty.fields  # type: ignore[return-value]

    @property
    def known_result(self) -> TensorType | None:
        """The result as a tensor type, if already determined."""
        return self.result if isinstance(self.result, TensorType) else None

    # --- learning

    def assign(self, index: int, ty: Type) -> None:
        """Argument `index` has type `ty`."""
        self.assign_argument(index, ty)

    # --- demanding

    def require(
        self, condition: bool, message: str, expected: str, found: str, hint: str | None = None
    ) -> None:
        """Fail unless `condition`."""
        if not condition:
            self.fail(message, expected, found, hint)

    def require_equal(self, a: Dim, b: Dim, what: str) -> Dim:
        """`a` and `b` must be the same dimension; returns the more specific one.

        Equality with `?` is checked at run time.
        """
        if not self.unify_dims(a, b):
            self.fail(f"{what} differ", f"{what} equal", f"{a} and {b}")
        return better_known(a, b)

    def require_finite(self, name: str, *values: float) -> None:
        """The values of an attribute must be finite."""
        if not all(map(isfinite, values)):
            shown = ", ".join(map(str, values))
            self.fail(f"`{name}` is not finite", "finite numbers", f"{name} = {shown}")

    def require_elements(self, index: int, kind: Elements) -> None:
        """Argument `index` must have elements of that kind, once known."""
        ty = self.tensor(index)
        if ty is not None and ty.dtype not in kind.allowed:
            self.fail(
                f"{self.argument(index)} has the wrong element type",
                f"{kind.name} elements",
                str(ty),
                "convert it with `cast`",
            )

    def require_rank(self, index: int, at_least: int) -> None:
        """Argument `index` must have at least that rank, once known."""
        ty = self.tensor(index)
        if ty is not None and len(ty.shape) < at_least:
            self.fail(
                f"{self.argument(index)} has too few axes",
                f"rank {at_least} or more",
                str(ty),
            )

    def expect(self, index: int, shape: Sequence[Dim], dtype: str) -> TensorType:
        """Argument `index` has that type: assigned while unknown, compared otherwise.

        Returns the type with `?` replaced by what the other side knows.
        """
        expected = TensorType(tuple(shape), dtype)
        found = self.tensor(index)
        if found is None:
            self.assign(index, expected)
            return expected
        if found.dtype != dtype or len(found.shape) != len(expected.shape):
            self.fail(f"{self.argument(index)} has the wrong type", str(expected), str(found))
        known: list[Dim] = []
        for a, b in zip(found.shape, expected.shape, strict=True):
            if not self.unify_dims(a, b):
                self.fail(f"{self.argument(index)} has the wrong shape", str(expected), str(found))
            known.append(better_known(a, b))
        return TensorType(tuple(known), dtype)

    def require_same_dtype(self, *types: TensorType) -> None:
        """Element types must agree: there is no implicit conversion."""
        if len({ty.dtype for ty in types}) > 1:
            self.fail(
                "element types differ",
                "the same element type everywhere",
                " and ".join(map(str, types)),
                "convert one side with `cast`",
            )

    def broadcast(self, a: Dim, b: Dim) -> Dim | None:
        """The broadcast of two extents; None if they do not fit.

        Two named dimensions must be equal. `?` against a constant other than 1 is that constant.
        """
        if a == 1:
            return b
        if b == 1:
            return a
        if isinstance(a, dims.Any):
            return b
        if isinstance(b, dims.Any):
            return a
        return better_known(a, b) if self.unify_dims(a, b) else None

    def stretches(self, extent: Dim, wanted: Dim) -> bool:
        """Whether an axis of that extent can be broadcast to another; `?` may."""
        return extent == 1 or self.unify_dims(extent, wanted)

    def is_dynamic(self, dim: Dim) -> bool:
        """Whether the extent is unknown at compile time."""
        return isinstance(dim, dims.Any)

    def require_natural(self, dim: Dim, message: str, expected: str, found: str) -> None:
        """The dimension must not be negative; dynamic ones are checked at run time."""
        self.require(not isinstance(dim, int) or dim >= 0, message, expected, found)

    def require_some(
        self, extent: Dim, wanted: Sequence[Dim], message: str, expected: str, found: str
    ) -> None:
        """An axis must have elements, unless one of the `wanted` extents is 0; dynamic ones are
        checked at run time."""
        missing = extent == 0 and all(isinstance(dim, int) and dim > 0 for dim in wanted)
        self.require(not missing, message, expected, found)

    def require_multiple(self, dim: Dim, of: Dim, message: str, expected: str, found: str) -> None:
        """The dimension must be a multiple; dynamic ones are checked at run time."""
        uneven = isinstance(dim, int) and isinstance(of, int) and dim % max(of, 1) != 0
        self.require(not uneven, message, expected, found)

    def axis(self, axis: int, rank: int, *, name: str = "axis") -> int:
        """`axis` as a nonnegative index."""
        if not -rank <= axis < rank:
            self.fail(
                f"`{name}` is out of range",
                f"{name} in [{-rank}, {rank}) for rank {rank}",
                f"{name} = {axis}",
            )
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int, *, name: str = "axis") -> tuple[int, ...]:
        """Several axes as nonnegative indices, each at most once."""
        found = tuple(self.axis(axis, rank, name=name) for axis in axes)
        if len(set(found)) < len(found):
            self.fail(f"`{name}` names an axis twice", "different axes", f"{name} = {axes}")
        return found

    def fail(
        self, message: str, expected: str | None, found: str | None, hint: str | None = None
    ) -> NoReturn:
        """Report a type error of this use."""
        where = "type mismatch in " if self.error is TypeCheckError else ""
        raise self.error(
            Diagnostic(f"{where}`{self.name}`: {message}", self.span, expected, found, hint)
        )

    def argument(self, index: int) -> str:
        """The name of argument `index` in messages."""
        if index < len(self.arguments):
            return f"argument `{self.arguments[index]}`"
        return f"argument {index}"


def running(name: str, arguments: Sequence[str], args: Sequence[Type], attrs: Any) -> Site:
    """The site of a call at run time: all dimensions are constants.

    References use it to compute result shapes by their relation; mismatches are `EvaluationError`s.
    """
    return Site(
        name,
        arguments,
        tuple(args),
        IncompleteType(),
        attrs,
        None,
        assign_argument=lambda index, ty: None,
        unify_dims=lambda a, b: a == b,
        error=EvaluationError,
    )


def better_known(a: Dim, b: Dim) -> Dim:
    """The more specific of two equal dimensions: a constant, a formula, or `?`."""
    if isinstance(a, dims.Any) or isinstance(b, int):
        return b
    return a


Relation = Callable[[Site], Type | None]
