"""`relay profile`: where the time of a call goes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from relay.cli import models, options
from relay.cli.inputs import call_of
from relay.cli.output import show, working, write_text


def profile(
    model: options.Model,
    given: options.Inputs = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs, of which the median counts.")] = 10,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    threads: options.Threads = None,
    json: options.Json = False,
    measured: Annotated[
        bool, typer.Option("--roof/--no-roof", help="Measure how near kernels are to the roof.")
    ] = True,
    trace: Annotated[
        Path | None,
        typer.Option(help="A file for the events of one call, which Perfetto opens."),
    ] = None,
) -> None:
    """The time of every kernel of a model, with its share, its rate and its operators."""
    from json import dumps

    from relay.machine import measure
    from relay.viz.trace import chrome
    from relay.viz.trace import trace as events_of

    with working(f"compiling {model.name}") as progress:
        shapes = options.shapes_of(shape)
        exe = models.executable(model, shapes, threads, target, progress, level=level)
    args, named = call_of(exe, given)
    roof = None
    if measured:
        with working("measuring the machine"):
            roof = measure(exe.threads)
    with working("running"):
        found = exe.profile(*args, repeat=repeat, roof=roof, **named)
        if trace is not None:
            write_text(dumps(chrome(events_of(exe, *args, **named))), trace)
    steps = [
        asdict(step.kernel)
        | {"seconds": step.seconds, "of_roof": None if roof is None else step.of_roof(roof)}
        for step in found
    ]
    show(found, json, {"seconds": found.seconds, "outside": found.outside, "steps": steps})
