"""Open models, one after another, through the compiler and through ONNX Runtime:

    python -m tests.frontend.onnx.random_models.open_run FIRST LAST MEGABYTES

For each there is a line, `NUMBER what came of it`: `agrees`, how many calls ONNX Runtime or the
standard refused, `refused: …` by the importer, or in a run with what was assumed at import,
`no oracle`, or `FAILS: …`. The line of its number stands before a model is tried, so that one that
ends the process is known.
"""

from __future__ import annotations

import gc
import random
import re
import resource
import sys
import traceback
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import onnx
import onnxruntime

from relay.driver import compile as compile_model
from relay.errors import FrontendError, RelayError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import close, reference, runtime, session_of
from tests.frontend.onnx.random_models.models import Made, open_model

T = TypeVar("T")

ROOM = 1 << 30  # bytes that a call may use
# What only we refuse in a run, and why.
ASSUMED = (
    # an extent without a name, beside one with a name, is taken for that one or 1; the name is 1
    "operands do not broadcast",
    # as constants are; ONNX Runtime reduces once
    "an axis is named twice",
    # no window lies in an image of no rows
    "the window is larger than the padded input",
)
# Of nothing, ONNX Runtime gives other shapes than the standard has.
OF_NOTHING = ("Reduce", "ArgMin", "ArgMax")
# What the standard forbids, and ONNX Runtime does not look at where a node is given nothing.
NOT_LOOKED_AT = (
    ("Reduce", "an axis is out of range"),
    ("CumSum", "the axis is out of range"),
    ("Pad", "is too short to be padded with its own elements"),
    ("Concat", "long in tried"),
)
# (-1, m) of (n, k, m) is said to have m columns; where m is 0, that is the code for k of them.
COPIED = (("Reshape", "long in tried"),)


class Seeded:
    """Decisions that are the same for the same number."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)

    def choice(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def model_of(number: int) -> Made:
    return open_model(Seeded(number))


def tried(made: Made) -> str:
    """What comes of a model."""
    onnx.checker.check_model(made.model)
    lacks = onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented
    try:
        session = session_of(made.model)
    except lacks:
        return "no oracle"
    except Exception as error:
        return f"no oracle: {str(error).splitlines()[0][:200]}"
    try:
        mod, params = from_onnx(made.model)
    except FrontendError as error:
        return f"refused: {_line(error)}"
    run = compile_model(mod, params, memory=ROOM)
    refused = 0
    for number, inputs in enumerate(made.calls):
        names = [one.name for one in session.get_inputs()]
        theirs = None
        try:
            if not number or not ends_runtime(made.model):
                theirs = session.run(None, dict(zip(names, inputs, strict=True)))
        except lacks:
            return "no oracle"
        except Exception:
            refused += 1
        try:
            found = run(*inputs)
        except RelayError as error:
            if theirs is None:
                continue
            if is_of_nothing(error, NOT_LOOKED_AT, made.model, inputs):
                refused += 1
                continue
            assumed = any(text in str(error) for text in ASSUMED)
            if assumed or is_of_nothing(error, COPIED, made.model, inputs):
                return f"refused: call {number}: {_line(error)}"
            return f"FAILS: call {number}: only we refuse: {_line(error)}"
        mine = list(found) if len(made.model.graph.output) > 1 else [found]
        why = None if theirs is None else difference(mine, theirs)
        if why and not is_about_nothing(made.model, inputs, mine):
            return f"FAILS: call {number}: {why}"
    return f"agrees, {refused} refused"


def ends_runtime(model: onnx.ModelProto) -> bool:
    """Whether ONNX Runtime divides by zero where tensors are empty, and ends the process."""
    return any(node.op_type == "Einsum" for node in model.graph.node)


def is_about_nothing(
    model: onnx.ModelProto, inputs: Sequence[np.ndarray], mine: Sequence[object]
) -> bool:
    """Whether ONNX Runtime is known to be wrong about a tensor without elements, or the reference
    of the standard says of one what we do."""
    known = [node for node in model.graph.node if node.op_type.startswith(OF_NOTHING)]
    if is_given_nothing(known, model, inputs):
        return True
    if all(array.size for array in inputs):
        return False
    try:
        return difference(mine, reference(model, *inputs)) is None
    except Exception:
        return False


def is_of_nothing(
    error: RelayError,
    reasons: Sequence[tuple[str, str]],
    model: onnx.ModelProto,
    inputs: Sequence[np.ndarray],
) -> bool:
    """Whether an error has one of the reasons, an operator and what we say, and the node that it
    names is given nothing."""
    named = re.search(r"of `%(\w+)` is not", str(error)) or re.search(r"node `(\w+)`", str(error))
    kinds = tuple(kind for kind, text in reasons if text in str(error))
    nodes = [node for node in model.graph.node if named and named[1] in node.output]
    return is_given_nothing([one for one in nodes if one.op_type.startswith(kinds)], model, inputs)


def is_given_nothing(
    nodes: Sequence[onnx.NodeProto], model: onnx.ModelProto, inputs: Sequence[np.ndarray]
) -> bool:
    """Whether the data of one of these nodes has no elements in a run."""
    data = [node.input if node.op_type == "Concat" else node.input[:1] for node in nodes]
    read = {name for names in data for name in names}
    given = {one.name: array for one, array in zip(model.graph.input, inputs, strict=True)}
    if any(array.size == 0 for name, array in given.items() if name in read):
        return True
    computed = {name for node in model.graph.node for name in node.output}
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    del asked.graph.output[:]
    asked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(read & computed))
    if not asked.graph.output:
        return False
    return any(np.asarray(one).size == 0 for one in runtime(asked, *inputs))


def difference(mine: Sequence[object], theirs: Sequence[object]) -> str | None:
    for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        left, right = np.asarray(one), np.asarray(other)
        if (left.shape, left.dtype) != (right.shape, right.dtype):
            return f"output {place}: {left.dtype}{left.shape}, not {right.dtype}{right.shape}"
        if not close(left, right):
            return f"output {place}: {left.reshape(-1)[:6]}, not {right.reshape(-1)[:6]}"
    return None


def _line(error: Exception) -> str:
    return " | ".join(line.strip() for line in str(error).splitlines())[:300]


def main() -> None:
    first, last, megabytes = map(int, sys.argv[1:])
    if megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    for number in range(first, last):
        print(number, end=" ", flush=True)
        try:
            outcome = tried(model_of(number))
        except Exception:
            outcome = "FAILS: " + " | ".join(traceback.format_exc().splitlines()[-6:])
        print(outcome, flush=True)
        gc.collect()  # a model keeps the addresses of its memory until it goes


if __name__ == "__main__":
    main()
