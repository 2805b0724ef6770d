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
    trace: Annotated[
        Path | None,
        typer.Option(help="A file for the events of one call, which Perfetto opens."),
    ] = None,
) -> None:
    """The time of every kernel of a model, with its share, its rate and its operators."""
    from json import dumps

    from relay.viz.trace import chrome
    from relay.viz.trace import trace as events_of

    with working(f"compiling {model.name}") as progress:
        shapes = options.shapes_of(shape)
        exe = models.executable(model, shapes, threads, target, progress, level=level)
    args, named = call_of(exe, given)
    with working("running"):
        found = exe.profile(*args, repeat=repeat, **named)
        if trace is not None:
            write_text(dumps(chrome(events_of(exe, *args, **named))), trace)
    steps = [asdict(step.kernel) | {"seconds": step.seconds} for step in found]
    show(found, json, {"seconds": found.seconds, "outside": found.outside, "steps": steps})
