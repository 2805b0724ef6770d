"""Published trained models, compared with ONNX Runtime.

    python benchmarks/real_models.py                              all of them
    python benchmarks/real_models.py --models nudenet,silero      some
    python benchmarks/real_models.py --threads 2                  both with two threads
    python benchmarks/real_models.py --profile                    and the time of every kernel
    python benchmarks/real_models.py --json out.json              records besides the table

Their files are downloaded once (see `tests/real_models/fetch.py`). A model is compiled once, with
an empty cache, and measured in turns at every size of its inputs. `small` is generated and needs no
download.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from engines import onnx_session
from measure import Run, arguments, started, take_turns

import relay
from relay.cache import Cache

sys.path.append(str(Path(__file__).parents[1]))  # for `tests.real_models`

from tests.real_models.catalogue import ONNX_MODELS, relative_error
from tests.real_models.fetch import CannotBeHad, fetch

CATALOGUE = {model.name.replace(" ", "-"): model for model in ONNX_MODELS}
SMALL = "small"

Feeds = dict[str, np.ndarray]


def small_model(folder: Path) -> tuple[Path, list[tuple[str, Feeds]]]:
    """A dense layer and an activation, for any number of rows."""
    from onnx import TensorProto, helper, numpy_helper, save

    weight = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Relu", ["product"], ["y"]),
        ],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 32])],
        [numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = folder / "small.onnx"
    save(model, str(path))
    random = np.random.default_rng(0)
    return path, [
        (f"n={n}", {"x": random.normal(size=(n, 64)).astype(np.float32)}) for n in (1, 16)
    ]


def real_model(name: str) -> tuple[Path, list[tuple[str, Feeds]]]:
    model = CATALOGUE[name]
    sizes = [(" ".join(f"{k}={n}" for k, n in one.items()), one) for one in model.sizes]
    return fetch(model), [(said, model.feeds(one)) for said, one in sizes]


def measure(run: Run, name: str, folder: Path, *, profile: bool) -> Iterator[float]:
    """The ratios of one model, one per input size."""
    path, cases = small_model(folder) if name == SMALL else real_model(name)
    start = time.perf_counter()
    session = onnx_session(str(path), run.threads)
    theirs = time.perf_counter() - start
    start = time.perf_counter()
    exe = relay.compile(str(path), threads=run.threads, cache=Cache(str(folder / name)))
    seconds = time.perf_counter() - start
    for said, feeds in cases:
        expected = session.run(None, feeds)
        found = exe(**feeds)
        results = found if isinstance(found, tuple) else (found,)
        errors = [
            relative_error(mine, right) for mine, right in zip(results, expected, strict=True)
        ]
        times = take_turns(
            {
                "relay": lambda feeds=feeds: exe(**feeds),
                "onnxruntime": lambda feeds=feeds: session.run(None, feeds),
            },
            run.threads,
            run.effort,
            time.process_time,
        )
        record = run.report.compare(
            f"{name} {said}".strip(),
            run.threads,
            times,
            error=max(errors),
            compile_s=seconds,
            note=f"compiled in {seconds:.1f} s (onnxruntime {theirs:.1f} s)",
        )
        yield record["ratio"]
        if profile:
            print(exe.profile(**feeds))


def main() -> None:
    names = [*CATALOGUE, SMALL]
    parser = arguments(__doc__, names)
    parser.add_argument("--profile", action="store_true", help="show the time of every kernel")
    given = parser.parse_args()
    run = started(given, names)
    ratios: list[float] = []
    missing: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in run.models:
            try:
                ratios += measure(run, name, Path(folder), profile=given.profile)
            except CannotBeHad as reason:
                missing[name] = reason
    for name, reason in missing.items():
        print(f"{name} was left out: {reason}")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\n{len(ratios)} cases, geometric mean of the ratios {mean:.2f}")
    run.report.write(given.json)


if __name__ == "__main__":
    main()
