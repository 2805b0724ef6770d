"""A program of TorchScript as data: blocks of calls, with calls of functions inlined.

def forward(self, x, n: int):             self, x, n ->
    if n > 0:                               t = aten::gt(n, 0)
        x = x * n                           y = prim::If(t) { -> aten::mul(x, n) } { -> x }
    return x                                y
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from relay import tree
from relay.errors import FrontendError, SourceName, Span
from relay.immutable import frozen

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+)')
_GENERATED = re.compile(r"^code/__torch__|[/\\]torch[/\\]")  # not where people look first


@frozen
class Call:
    """A step of a block: an operator, its operands by name, and its results."""

    kind: str  # aten::add, prim::If, …
    operands: tuple[str, ...]
    results: tuple[str, ...]
    types: tuple[Any, ...]  # torch's, of the results
    span: Span
    blocks: tuple[Block, ...] = ()
    attribute: Any = None  # the value of a constant, the name of an attribute
    schema: str = ""

    @property
    def operator(self) -> str:
        """The name in messages."""
        return self.kind.replace("::", ".", 1)


@frozen
class Block:
    """Calls one after another; a block has parameters, and results by name."""

    parameters: tuple[str, ...]
    types: tuple[Any, ...]  # of the parameters
    calls: tuple[Call, ...]
    results: tuple[str, ...]

    def everything(self) -> Iterator[Call]:
        """All calls, those of inner blocks included."""
        pending = [self]
        while pending:
            for call in pending.pop().calls:
                yield call
                pending += call.blocks


def program_of(graph: Any) -> Block:
    """The program of a graph of torch, which is copied."""
    inlined = graph.copy()
    torch._C._jit_pass_inline(inlined)
    found: Block = tree.run(_block(inlined))
    return found


def _block(block: Any) -> tree.Steps[Block]:
    calls = []
    for node in block.nodes():
        blocks = []
        for inner in node.blocks():
            blocks.append((yield _block(inner)))
        calls.append(_call(node, tuple(blocks)))
    parameters = [*block.inputs()]
    return Block(
        tuple(one.debugName() for one in parameters),
        tuple(one.type() for one in parameters),
        tuple(calls),
        tuple(one.debugName() for one in block.outputs()),
    )


def _call(node: Any, blocks: tuple[Block, ...]) -> Call:
    outputs = [*node.outputs()]
    schema = node.schema()
    return Call(
        node.kind(),
        tuple(one.debugName() for one in node.inputs()),
        tuple(one.debugName() for one in outputs),
        tuple(one.type() for one in outputs),
        _span(node),
        blocks,
        _attribute(node, outputs),
        "" if schema.startswith("(") else schema,
    )


def _attribute(node: Any, outputs: list[Any]) -> Any:
    match node.kind():
        case "prim::Constant":
            return None if outputs[0].type().kind() == "NoneType" else outputs[0].toIValue()
        case "prim::GetAttr" | "prim::SetAttr" | "prim::CallMethod":
            return node.s("name")
        case "prim::isinstance":
            return [*node.tys("types")]
        case "prim::PythonOp":
            return node.pyname()
    return None


def _span(node: Any) -> Span:
    """The line of the user's file that a call comes from."""
    try:
        text = node.sourceRange()
    except (RuntimeError, UnicodeDecodeError):  # broken notes of lines are no more than that
        text = ""
    frames = [*_FRAME.finditer(text)]
    own = [one for one in frames if not _GENERATED.search(one["file"])] or frames
    if not own:
        return Span(SourceName(f"the script, {node.kind()}"))
    return Span(SourceName(f"{own[0]['file']}:{own[0]['line']}, {node.kind()}"))


@frozen
class Schema:
    """The signature of an operator."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    shares: bool  # whether the result may share memory with an argument
    is_list: bool  # the first result is a list

    @property
    def writes(self) -> str | None:
        """The argument that the operator changes."""
        return next((one.name for one in self.arguments if one.is_written), None)


@frozen
class Argument:
    """An argument of an operator."""

    name: str
    type: str
    is_written: bool
    has_default: bool
    default: Any
    keyword_only: bool


def schema_of(text: str) -> Schema:
    """The signature that a text declares."""
    try:
        found: Any = torch._C.parse_schema(text)
    except RuntimeError as error:
        raise FrontendError.of("the signature of an operator is not known", found=text) from error
    arguments = tuple(
        Argument(
            one.name,
            str(one.real_type),
            one.alias_info is not None and one.alias_info.is_write,
            one.has_default_value(),
            one.default_value if one.has_default_value() else None,
            one.kwarg_only,
        )
        for one in found.arguments
    )
    returns = found.returns
    shares = any(one.alias_info is not None for one in returns)
    is_list = bool(returns) and str(returns[0].type).startswith("List")
    name = str(found.name)
    return Schema(name, str(found.overload_name), arguments, shares, is_list)
