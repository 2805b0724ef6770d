"""The ONNX backend suite through the compiler: how many of its tests pass.

    python tools/onnx_suite.py                        everything, with a table
    python tools/onnx_suite.py --match 'test_conv.*'  some; failures with their reasons
    python tools/onnx_suite.py --kind node --jobs 2

Every test runs as native code; one in which the interpreter is called fails. Those that
`onnx_exclusions.txt` names do not run, each for the reason given there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
SECONDS = 300  # for one test
EXCLUSIONS = Path(__file__).with_name("onnx_exclusions.txt")

Outcome = tuple[str, str, str]  # kind, name, what is wrong


def exclusions() -> dict[str, str]:
    """(regular expression, reason) of each exclusion."""
    lines = EXCLUSIONS.read_text(encoding="utf-8").splitlines()
    entries = (line.partition(" ") for line in lines if line and not line.startswith("#"))
    return {pattern: reason.strip() for pattern, _, reason in entries}


def excluded(name: str) -> str | None:
    """The reason why a test is excluded, or None."""
    return next((why for pattern, why in exclusions().items() if re.search(pattern, name)), None)


def cases(kinds: tuple[str, ...] = KINDS, match: str = "") -> list[tuple[str, str]]:
    """The kind and name of each test."""
    wanted = re.compile(match)
    found = [(kind, name) for kind in kinds for name in _known(kind)]
    return [one for one in found if wanted.search(one[1])]


def run(case: tuple[str, str], of: Callable[..., None] | None = None) -> Outcome:
    """Run one test, with `of` or else as native code; the empty string means that it passed."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        (of or _run)(*case)
    except Exception as error:  # any exception is a failure of this test
        text = f"{type(error).__name__}: {error}".strip()
        return (*case, text or "error")
    finally:
        signal.alarm(0)
    return (*case, "")


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def _run(kind: str, name: str) -> None:
    import relay.interpreter.evaluate as interpreter
    import relay.onnx_backend as backend

    model, data_sets = load(kind, name)
    compiled = backend.prepare(model)
    evaluate, interpreter.evaluate = interpreter.evaluate, _refuse
    try:
        for inputs, wanted in data_sets:
            check(kind, name, compiled.run(inputs), wanted)
    finally:
        interpreter.evaluate = evaluate


def load(kind: str, name: str) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """The model of a test, and its sets of inputs and outputs."""
    import onnx

    case = _known(kind)[name]
    if kind == "light":
        path = Path(onnx.__file__).parents[1] / case.url
        model, data_sets = onnx.load(path), _of_light_model(path)
    else:
        model = case.model or onnx.load(Path(case.model_dir) / "model.onnx")
        data_sets = case.data_sets or _in_files(model, Path(case.model_dir))
    return model, [([*map(_array, given)], [*map(_array, wanted)]) for given, wanted in data_sets]


def check(kind: str, name: str, results: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Check the outputs of a test against the expected ones."""
    case = _known(kind)[name]
    for mine, theirs in zip(results, wanted, strict=True):
        _compare(mine, theirs, case.rtol, case.atol)


@cache
def _known(kind: str) -> dict[str, Any]:
    """The tests of a kind, by name. Generating the node tests takes seconds."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(action="ignore"):  # some tests overflow on purpose
        # the suite's "real" models come without weights
        found = load_model_tests(kind="real" if kind == "light" else kind)
    return {case.name: case for case in found}


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the interpreter was called")


def _in_files(model: Any, folder: Path) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs and expected outputs stored in the folder of a test."""
    weights = {one.name for one in model.graph.initializer}
    given = [one for one in model.graph.input if one.name not in weights]
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = [_value(data / f"input_{i}.pb", one) for i, one in enumerate(given)]
        outputs = [_value(data / f"output_{i}.pb", one) for i, one in enumerate(model.graph.output)]
        yield inputs, outputs


def _of_light_model(path: Path) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs that the suite generates for a model and the stored expected outputs."""
    import numpy as np
    import onnx

    graph = onnx.load(path).graph
    weights = {one.name for one in graph.initializer}
    inputs = []
    for one in graph.input:
        if one.name not in weights:
            shape = [dim.dim_value or 1 for dim in one.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
    outputs = [
        _value(path.with_name(f"{path.stem}_output_{place}.pb"), one)
        for place, one in enumerate(graph.output)
    ]
    yield inputs, outputs


def _value(path: Path, described: Any) -> Any:
    """Read a protobuf file as the value type of an input or output."""
    import onnx
    from onnx import numpy_helper

    kind = described.type.WhichOneof("value")
    data = path.read_bytes()
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _array(value: Any) -> Any:
    """Convert a value of a test; some are TensorProto messages."""
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _compare(mine: Any, theirs: Any, rtol: float, atol: float) -> None:
    import numpy as np

    if isinstance(theirs, list):
        assert isinstance(mine, list) and len(mine) == len(theirs), "lists of different lengths"
        for one, other in zip(mine, theirs, strict=True):
            _compare(one, other, rtol, atol)
        return
    if theirs is None:
        assert mine is None, "something instead of nothing"
        return
    mine = np.asarray(mine)
    assert mine.shape == theirs.shape, f"shape {mine.shape} instead of {theirs.shape}"
    assert mine.dtype == theirs.dtype, f"{mine.dtype} instead of {theirs.dtype}"
    if mine.dtype.kind in "biuO":
        np.testing.assert_array_equal(mine, theirs)
        return
    wide = np.float32 if mine.dtype.itemsize < 4 else mine.dtype
    np.testing.assert_allclose(mine.astype(wide), theirs.astype(wide), rtol=rtol, atol=atol)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--match", default="", help="a regular expression for names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", type=Path, help="write the names of what fails to this file")
    options = parser.parse_args()
    found = cases(tuple(options.kind or KINDS), options.match)
    chosen = [case for case in found if excluded(case[1]) is None]
    if options.jobs == 1:
        outcomes = [run(case) for case in chosen]
    else:
        context = multiprocessing.get_context("spawn")
        with context.Pool(options.jobs, maxtasksperchild=200) as pool:
            outcomes = list(pool.imap_unordered(run, chosen, chunksize=8))
    failed = sorted(one for one in outcomes if one[2])
    for kind, name, wrong in failed:
        print(f"{kind} {name}: {' '.join(wrong.split())[:300]}")
    if options.list:
        options.list.write_text("".join(f"{kind} {name}\n" for kind, name, _ in failed))
    totals = Counter(kind for kind, _ in found)
    passed = Counter(kind for kind, _, wrong in outcomes if not wrong)
    for kind in totals:
        print(f"{kind}: {passed[kind]} of {totals[kind]} pass")
    reasons = Counter(why for _, name in found if (why := excluded(name)) is not None)
    for why, count in reasons.items():
        print(f"{count} do not run: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
