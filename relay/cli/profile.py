"""`relay profile`: where the time of a call goes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from relay.cli import models, options
from relay.cli.inputs import call_of
from relay.cli.output import show, working


def profile(
    model: options.Model,
    given: options.Inputs = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs, of which the median counts.")] = 10,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """The time of every kernel of a model, with its share, its rate and its operators."""
    with working(f"compiling {model.name}"):
        exe = models.executable(model, options.shapes_of(shape), threads, target, level=level)
    args, named = call_of(exe, given)
    with working("running"):
        found = exe.profile(*args, repeat=repeat, **named)
    steps = [asdict(step.kernel) | {"seconds": step.seconds} for step in found]
    show(found, json, {"seconds": found.seconds, "outside": found.outside, "steps": steps})
