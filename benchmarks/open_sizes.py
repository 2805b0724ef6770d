"""Models whose sizes are open, compared with the same models compiled for one size.

    python benchmarks/open_sizes.py                            published models with open sizes
    python benchmarks/open_sizes.py --models nudenet,magika    some
    python benchmarks/open_sizes.py --threads 2
    python benchmarks/open_sizes.py --json out.json            records besides the table

The ratio is the time of the static program over that of the open one: below 1, open sizes cost
something. Files are those of `real_models.py`.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from measure import arguments, started, take_turns
from real_models import CATALOGUE, SMALL, Feeds, real_model, relative_error, small_model

import relay
from relay.frontend import from_onnx
from tests.real_models.fetch import CannotBeHad

OPEN = tuple(
    name
    for name, model in CATALOGUE.items()
    if any(isinstance(n, str) for one in model.inputs.values() for n in one.shape)
)


def cases(name: str, folder: Path) -> tuple[Path, list[tuple[str, Feeds]]]:
    return small_model(folder) if name == SMALL else real_model(name)


def main() -> None:
    names = [*OPEN, SMALL]
    given = arguments(__doc__, names).parse_args()
    run = started(given, names)
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in run.models:
            try:
                path, sizes = cases(name, Path(folder))
            except CannotBeHad as reason:
                print(f"{name} was left out: {reason}")
                continue
            exe = relay.compile(str(path), threads=run.threads)
            for said, feeds in sizes:
                shapes = {key: tuple(array.shape) for key, array in feeds.items()}
                try:
                    module, weights = from_onnx(str(path), shapes, freeze_params=None)
                except relay.RelayError as error:  # a branch that these sizes do not fit
                    print(f"{name} {said} has no static form: {str(error).splitlines()[0]}")
                    continue
                fixed = relay.compile(module, weights, threads=run.threads)
                times = take_turns(
                    {
                        "relay": lambda exe=exe, feeds=feeds: exe(**feeds),
                        "static": lambda feeds=feeds, fixed=fixed: fixed(**feeds),
                    },
                    run.threads,
                    run.effort,
                )
                results = [
                    made if isinstance(made, tuple) else (made,)
                    for made in (exe(**feeds), fixed(**feeds))
                ]
                record = run.report.compare(
                    f"{name} {said}".strip(),
                    run.threads,
                    times,
                    error=max(relative_error(a, b) for a, b in zip(*results, strict=True)),
                    compile_s=None,
                )
                ratios.append(record["ratio"])
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\n{len(ratios)} cases, geometric mean of the ratios {mean:.2f}")
        run.report.wanted("open sizes, the worst case", 1 / min(ratios), "x static", most=1.1)
    run.report.write(given.json)


if __name__ == "__main__":
    main()
