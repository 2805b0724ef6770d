"""Converts blocks of calls on a path: values of names, control flow, and everything else by table.

A call whose operand is one of several forms (`UnionCell`) is converted for each of them:

    y = f(x)      %y = match (%x) { Case0Of2(%a) => f(%a), Case1Of2(%b) => f(%b) }

A case for which the call cannot be converted ends the run when it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relay import tree
from relay.errors import DiagnosticError, FrontendError
from relay.frontend.common import converters as common
from relay.frontend.pytorch.script.coding import (
    Shared,
    content,
    decoded,
    numbered,
    opened,
    resolved,
)
from relay.frontend.pytorch.script.graph import Block, Call, Schema, schema_of
from relay.frontend.pytorch.script.loops import Loop
from relay.frontend.pytorch.script.merging import Branch, merge
from relay.frontend.pytorch.script.path import Failure, Path
from relay.frontend.pytorch.script.values import (
    DictCell,
    Known,
    ListCell,
    ObjectCell,
    Stale,
    UnionCell,
)
from relay.ir.expr import Clause, Expr, If, Match

if TYPE_CHECKING:
    from relay.frontend.pytorch.script.model import Model

# (converter, path, call, operands) -> the result, or a list of several
Handler = Callable[..., Any]

# calls that take a value of several forms as it is
WHOLE = frozenset(
    {
        "prim::SetAttr", "prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct",
        "prim::TupleUnpack", "prim::TupleIndex", "aten::__is__", "aten::__isnot__", "aten::append",
        "prim::unchecked_cast", "aten::_unwrap_optional", "prim::isinstance", "aten::_set_item",
        "aten::insert",
    }
)  # fmt: skip


class Unsupported(FrontendError):
    """An operator that has no converter."""


class Handlers:
    """A table of functions that convert calls, by kind."""

    def __init__(self) -> None:
        self.table: dict[str, Handler] = {}

    def __call__(self, *kinds: str) -> Callable[[Handler], Handler]:
        def enter(handler: Handler) -> Handler:
            self.table.update(dict.fromkeys(kinds, handler))
            return handler

        return enter


@dataclass
class Converter:
    """A conversion of a program."""

    model: Model
    tables: Sequence[common.Converters]
    handlers: Mapping[str, Handler]
    otherwise: Handler  # any other operator
    names: dict[str, Any] = field(default_factory=dict)
    schemas: dict[str, Schema] = field(default_factory=dict)

    def convert(self, path: Path, block: Block, values: Sequence[Any]) -> list[Any] | None:
        """The results of a block; None if it ends the run."""
        found: list[Any] | None = tree.run(self.entered(path, block, values))
        return found

    def entered(
        self, path: Path, block: Block, values: Sequence[Any]
    ) -> tree.Steps[list[Any] | None]:
        """The results of a block for values of its parameters."""
        self.names.update(zip(block.parameters, values, strict=True))
        for call in block.calls:
            yield self.call(path, call)
            if path.failure is not None:
                return None
        return [self.names[name] for name in block.results]

    def operands(self, path: Path, call: Call) -> list[Any]:
        return [resolved(path, self.names[name]) for name in call.operands]

    def schema(self, call: Call) -> Schema:
        if call.schema not in self.schemas:
            self.schemas[call.schema] = schema_of(call.schema)
        return self.schemas[call.schema]

    def call(self, path: Path, call: Call) -> tree.Steps[None]:
        """Convert a call; its results get their names."""
        try:
            if call.kind == "prim::If":
                found = yield self._if(path, call)
            elif call.kind == "prim::Loop":
                found = yield Loop(self, path, call).run()
            else:
                values = self.operands(path, call)
                union = None if call.kind in WHOLE else _union(path, values)
                if union is not None:
                    found = yield self._split(path, call, union)
                else:
                    handler = self.handlers.get(call.kind, self.otherwise)
                    found = handler(self, path, call, *values)
        except Unsupported:
            raise
        except DiagnosticError as error:
            raise _located(error, call) from error
        if path.failure is None:
            found = found if isinstance(found, list) else [found]
            if call.results:
                self.names.update(zip(call.results, found, strict=True))

    # --- branches

    def _if(self, path: Path, call: Call) -> tree.Steps[list[Any]]:
        (condition,) = self.operands(path, call)
        if isinstance(condition, bool):
            block = call.blocks[0 if condition else 1]
            return (yield self.entered(path, block, ())) or []
        test = numbered(path, condition, call.span)
        branches = []
        for block in call.blocks:
            inner = path.inner()
            results = yield self.entered(inner, block, ())
            branches.append(Branch(inner, results or ()))
        yes, no = branches
        if yes.is_alive != no.is_alive:
            # the rest is what follows the branch that does not end the run
            kept, other = (yes, no) if yes.is_alive else (no, yes)
            path.guard(test, yes.is_alive, other.path)
            path.absorb(kept.path)
            return [*kept.results]

        def choose(bodies: list[Expr]) -> Expr:
            return If(test, *bodies)

        return merge(path, branches, choose, call.span, len(call.results))

    def _split(self, path: Path, call: Call, union: UnionCell) -> tree.Steps[list[Any]]:
        """The results of a call for each form of an operand."""
        cases = content(path, union, call.span)
        branches, patterns, errors = [], [], []
        for pattern, inner, leaves, form in opened(path, cases):
            inner.put(
                union, Known(decoded(inner, leaves, form, Shared(union.origins, union.holds)))
            )
            results: list[Any] = []
            try:
                yield self.call(inner, call)
                results = [self.names[name] for name in call.results if inner.failure is None]
            except Unsupported:
                raise
            except FrontendError as error:
                inner.failure = Failure(error, call.span)
                errors.append(error)
            if not isinstance(inner.contents[union], Stale):
                results = [_taken(inner, one) for one in results]
                del inner.contents[union]
            patterns.append(pattern)
            branches.append(Branch(inner, results))
        if len(errors) == len(branches):
            raise errors[0]

        def choose(bodies: list[Expr]) -> Expr:
            pairs = zip(patterns, bodies, strict=True)
            return Match(cases.value, tuple(Clause(*pair) for pair in pairs))

        return merge(path, branches, choose, call.span, len(call.results), apart=True)


def _taken(path: Path, value: Any) -> Any:
    return resolved(path, value)


def _located(error: DiagnosticError, call: Call) -> FrontendError:
    """The error, of this call where it is of none."""
    first = error.diagnostics[0]
    if isinstance(error, FrontendError) and first.span is not None:
        return error
    return FrontendError.of(first.message, call.span, first.expected, first.found, first.hint)


def _union(path: Path, values: Sequence[Any]) -> UnionCell | None:
    """A value of several forms among operands or inside them."""
    pending, seen = [*values], set()
    while pending:
        value = resolved(path, pending.pop())
        if isinstance(value, UnionCell):
            return value
        if isinstance(value, tuple):
            pending += value
        if isinstance(value, ListCell | DictCell | ObjectCell) and value not in seen:
            seen.add(value)
            held = path.get(value)
            if isinstance(held, tuple):
                pending += held
    return None
