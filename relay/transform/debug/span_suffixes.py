"""Number the calls that come from one node of a model (`tag_suffixes`):

nn.bias_add(nn.conv2d(…) at conv1, …) at conv1
->
nn.bias_add(nn.conv2d(…) at conv1_PART_0, …) at conv1_PART_1

An importer gives all calls of a node of a model the name of the node as span. The suffix counts
them in the order of evaluation.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from relay import tree
from relay.check.infer import infer_module
from relay.errors import Span
from relay.ir.expr import Call, Function, Syntax
from relay.ir.module import IRModule

__all__ = ["tag_suffixes"]

SUFFIX = "_PART_"


def tag_suffixes(mod: IRModule) -> IRModule:
    """`mod` with a distinct name for the span of every call; unique names are kept."""
    result = mod.copy()
    changed = False
    for name, function in mod.functions.items():
        after = _tagged(function)
        if after is not function:
            result[name] = after
            changed = True
    return infer_module(result) if changed else mod


def _tagged(function: Function) -> Function:
    counts = Counter(_name(node) for node in tree.postorder(function))
    used: Counter[str | None] = Counter()

    def visit(before: Syntax, after: Syntax) -> Syntax:
        name = _name(before)
        if name is None or counts[name] == 1:
            return after
        number = used[name]
        used[name] += 1
        assert isinstance(before.span, Span)
        source = dataclasses.replace(before.span.source_name, name=f"{name}{SUFFIX}{number}")
        return tree.replace(after, span=dataclasses.replace(before.span, source_name=source))

    return tree.transform(function, visit)


def _name(node: Syntax) -> str | None:
    """The span name of a call; None if the span has a line, or there is none."""
    span = node.span
    if not isinstance(node, Call) or not isinstance(span, Span) or span.line:
        return None
    return span.source_name.name
