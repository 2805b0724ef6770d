"""What a type relation sees: one use of an operator, with what is known of its types so far.

A relation is a function `Site -> Type | None`. It returns the type of the result, or None while it
lacks information (the solver comes back when more is known), or fails through the site, which knows
where in the program it stands. It may also learn backwards: `site.assign(1, …)` gives the second
argument a type, `site.result` is what is already known of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from relay.errors import AnySpan, Diagnostic, TypeCheckError
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.types import IncompleteType, TensorType, TupleType, Type


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
    assign_argument: Callable[[int, Type], None]
    unify_dims: Callable[[Dim, Dim], bool]

    # --- looking

    def tensor(self, index: int, rank: int | None = None) -> TensorType | None:
        """Argument `index` as a tensor type; None while it is not known."""
        ty = self.args[index]
        if isinstance(ty, IncompleteType):
            return None
        if not isinstance(ty, TensorType):
            self.fail(f"{self._argument(index)} must be a tensor", "a tensor", str(ty))
        if rank is not None and len(ty.shape) != rank:
            self.fail(
                f"{self._argument(index)} has the wrong rank", f"a tensor of rank {rank}", str(ty)
            )
        return ty

    def tensors(self, rank: int | None = None) -> tuple[TensorType, ...] | None:
        """All arguments as tensor types; None while one is not known."""
        found = [self.tensor(i, rank) for i in range(len(self.args))]
        return None if any(f is None for f in found) else tuple(found)  # type: ignore[arg-type]

    def tensor_tuple(self, index: int) -> tuple[TensorType, ...] | None:
        """Argument `index` as a tuple of tensors; None while part of it is not known."""
        ty = self.args[index]
        if isinstance(ty, IncompleteType):
            return None
        if not isinstance(ty, TupleType):
            self.fail(
                f"{self._argument(index)} must be a tuple of tensors", "a tuple of tensors", str(ty)
            )
        for part in ty.fields:
            if isinstance(part, IncompleteType):
                return None
            if not isinstance(part, TensorType):
                self.fail(f"{self._argument(index)} must hold tensors only", "tensors", str(ty))
        return ty.fields  # type: ignore[return-value]

    @property
    def known_result(self) -> TensorType | None:
        """The result as a tensor type, when something else already determined it."""
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
        """`a` and `b` must be the same dimension; the better known of the two.

        Against `?` it holds until a run shows otherwise.
        """
        if not self.unify_dims(a, b):
            self.fail(f"{what} differ", f"{what} equal", f"{a} and {b}")
        return b if isinstance(a, dims.Any) else a

    def require_dtype(self, index: int, *allowed: str) -> None:
        """Argument `index` must have one of these element types."""
        ty = self.tensor(index)
        if ty is not None and ty.dtype not in allowed:
            self.fail(
                f"{self._argument(index)} has the wrong element type", " or ".join(allowed), str(ty)
            )

    def require_same_dtype(self, *types: TensorType) -> None:
        """Element types are never converted silently."""
        if len({ty.dtype for ty in types}) > 1:
            self.fail(
                "element types differ",
                "the same element type everywhere",
                " and ".join(map(str, types)),
                "convert one side with `cast`",
            )

    def broadcast(self, a: Dim, b: Dim) -> Dim | None:
        """The extent of `a` against `b` by NumPy's rule; None when they do not fit.

        Two named dimensions must be equal. `?` against a number is that number, unless it is 1.
        """
        if a == 1:
            return b
        if b == 1:
            return a
        if isinstance(a, dims.Any):
            return b
        if isinstance(b, dims.Any):
            return a
        return a if self.unify_dims(a, b) else None

    def axis(self, axis: int, rank: int, *, name: str = "axis") -> int:
        """`axis` counted from the front; negative ones count from the back."""
        if not -rank <= axis < rank:
            self.fail(
                f"`{name}` is out of range",
                f"{name} in [{-rank}, {rank}) for rank {rank}",
                f"{name} = {axis}",
            )
        return axis % rank

    def fail(
        self, message: str, expected: str | None, found: str | None, hint: str | None = None
    ) -> NoReturn:
        """This use of the operator has no type."""
        raise TypeCheckError(
            Diagnostic(
                f"type mismatch in `{self.name}`: {message}", self.span, expected, found, hint
            )
        )

    def _argument(self, index: int) -> str:
        if index < len(self.arguments):
            return f"argument `{self.arguments[index]}`"
        return f"argument {index}"


Relation = Callable[[Site], Type | None]
