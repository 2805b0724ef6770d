"""Where NaN or infinity first comes from: the operator, and the line of the program.

    found = relay.debugging.find_non_finite(mod, (x,), params=params)
    print(found)        nn.softmax made NaN in 3 of 10 elements, of finite inputs …

The program runs in the interpreter, in which every operator is seen, inside of functions, branches
and loops too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay.debugging import programs
from relay.errors import Span
from relay.frontend.model import Example, Model, as_module
from relay.immutable import frozen
from relay.interpreter.values import TupleValue, Value, to_value
from relay.ir.expr import Call
from relay.ir.function_attrs import CONVENTION
from relay.nd import NDArray
from relay.pipeline.weights import given_weights
from relay.transform.infer_type import InferType


@frozen
class NonFinite:
    """An operator that made NaN or infinity."""

    operator: str
    where: str  # the source
    nans: int
    infinities: int
    elements: int
    from_finite: bool  # its inputs were finite: it is where they come from
    line: str = ""  # the text of the source, if it is known

    def __str__(self) -> str:
        what = " and ".join(
            f"{name} in {count}"
            for name, count in (("NaN", self.nans), ("infinity", self.infinities))
            if count
        )
        given = "of finite inputs" if self.from_finite else "of inputs that were not finite"
        lines = [f"`{self.operator}` made {what} of {self.elements} elements, {given}"]
        if self.where:
            lines.append(f"  --> {self.where}")
        if self.line:
            lines.append(f"      {self.line.strip()}")
        return "\n".join(lines)


class _Found(Exception):  # noqa: N818: it ends the run, and nobody else sees it
    def __init__(self, found: NonFinite) -> None:
        self.found = found


def find_non_finite(
    model: Model,
    inputs: Sequence[Any],
    *,
    params: Mapping[str, Any] | None = None,
) -> NonFinite | None:
    """The first operator that makes NaN or infinity; None if there is none.

    One that gets such a number as an input of the program, or as a weight, is reported as well,
    with `from_finite` false.
    """
    module, own = as_module(model, Example(tuple(inputs)))
    main = module["main"]
    for attribute in (CONVENTION, "State"):
        if attribute in main.attrs:
            main = main.without_attr(attribute)
    module["main"] = main
    weights = given_weights(main, own, params)
    module = InferType()(module)
    given = [to_value(np.asarray(one)) for one in inputs]

    def look(call: Call, args: Sequence[Value], result: Value) -> None:
        nans, infinities, elements = _count([result])
        if nans or infinities:
            span = call.span
            line = span.source_name.line(span.line) if isinstance(span, Span) else None
            name = getattr(call.op, "name", "?")
            where = "" if span is None else str(span)
            finite = not any(_count(args)[:2])
            raise _Found(NonFinite(name, where, nans, infinities, elements, finite, line or ""))

    try:
        programs.result(module, weights, given, look)
    except _Found as found:
        return found.found
    return None


def _count(values: Sequence[Value]) -> tuple[int, int, int]:
    """The NaNs, the infinities and all elements of tensors."""
    nans = infinities = elements = 0
    pending: list[Any] = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, TupleValue):
            pending += value.fields
        elif isinstance(value, NDArray):
            array = value.array
            elements += array.size
            if array.dtype.kind in "iub":
                continue
            wide = array if array.dtype.kind in "fc" else array.astype(np.float32)
            nans += int(np.isnan(wide).sum())
            infinities += int(np.isinf(wide).sum())
    return nans, infinities, elements
