"""`relay tune`: the fastest schedules of a model's kernels, found by measuring."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from relay.cli import models, options
from relay.cli.output import show, working


def tune(
    model: options.Model,
    budget: Annotated[float, typer.Option(min=1, help="How many seconds to measure.")] = 60.0,
    again: Annotated[bool, typer.Option("--again", help="Measure what is known too.")] = False,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    exact: options.Exact = False,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Time other schedules for the kernels of a model, and keep the best for `relay compile`."""
    from relay.tuning.tune import tune

    with working(f"tuning {model.name}") as progress:
        progress("import", 0, 0)
        module, weights = models.read_module(model, options.shapes_of(shape))
        found = tune(
            module,
            weights,
            budget=budget,
            again=again,
            target=target,
            level=level,
            exact=exact,
            threads=threads,
            progress=progress,
        )
    kernels = [asdict(one) for one in found]
    show(found, json, {"median": found.median, "left": found.left, "kernels": kernels})
