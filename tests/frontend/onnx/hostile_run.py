"""A process that imports hostile models and may do nothing else: little memory, no files written,
nothing started. It prints how each went, as JSON.

    python -m tests.frontend.onnx.hostile_run corpus
    python -m tests.frontend.onnx.hostile_run changed SEED COUNT
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from functools import partial
from random import Random

import onnx

from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import (
    EITHER,
    REFUSED,
    call,
    chain,
    function,
    nested,
    node,
    sizes,
    sparse,
    with_functions,
)
from tests.support.hostile_files import changed_bytes, forbid, outcome

MEMORY = 3 << 30  # bytes of address space, of which NumPy and ONNX themselves take a part


def read(model: onnx.ModelProto | bytes) -> None:
    mod, _ = from_onnx(model)
    str(mod)


def corpus() -> Iterator[tuple[str, onnx.ModelProto | bytes]]:
    for name, builder in {**REFUSED, **EITHER}.items():
        yield name, builder()


def changed(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Files with bytes that are others, gone, or there several times."""
    random = Random(seed)
    models = [
        chain(node("Relu", "x")),
        chain(node("Reshape", "x", "sizes"), constants=[sizes(3, 2)]),
        with_functions(function("f", [call("g", to="m"), node("Relu", "m")]),
                       function("g", [node("Neg", "x")])),
        sparse([4, 4], [[0, 1]]),
        nested(3),
    ]  # fmt: skip
    files = [model.SerializeToString() for model in models]
    for number in range(count):
        yield f"{number}", changed_bytes(random, random.choice(files))


def main() -> None:
    from_onnx(chain(node("Relu", "x")))  # whatever is loaded on first use is loaded
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    given = corpus() if sys.argv[1] == "corpus" else changed(int(sys.argv[2]), int(sys.argv[3]))
    sys.addaudithook(forbid)
    print(json.dumps({name: outcome(partial(read, model)) for name, model in given}))


if __name__ == "__main__":
    main()
