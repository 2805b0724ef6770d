"""`relay opt`: passes over a program, text in and text out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relay.cli import models, options
from relay.cli.output import write_text


def opt(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="A program (.relay) or a model.", show_default=False),
    ] = None,
    passes: Annotated[
        str | None,
        typer.Option(
            help="Passes to run, `fold-constant,dead-code-elimination(inline_once=True)`.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        int | None, typer.Option(min=0, max=4, help="Run the passes of a level of `relay.compile`.")
    ] = None,
    print_before: Annotated[
        str | None, typer.Option(help="Print the program before these passes, or before `all`.")
    ] = None,
    print_after: Annotated[
        str | None, typer.Option(help="Print the program after these passes, or after `all`.")
    ] = None,
    times: Annotated[bool, typer.Option("--times", help="Print the time of each pass.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Print the names of all passes.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="A file for the program.", show_default="printed"),
    ] = None,
    shape: options.Shapes = None,
    target: options.Machine = None,
) -> None:
    """Run passes over a program and print the result; what passes print goes to stderr."""
    from relay.cli.passes import Printing, known, passes_of

    if listed:
        print("\n".join(sorted(known())))
        return
    if model is None:
        raise typer.BadParameter("give a program, or --list", param_hint="MODEL")
    if (passes is None) == (level is None):
        raise typer.BadParameter("give either --passes or --level", param_hint="--passes")
    import sys

    from relay import transform

    chosen = [] if passes is None else passes_of(passes)
    watching = [Printing.of("before", print_before), Printing.of("after", print_after)]
    timing = transform.PassTimingInstrument()
    module, _ = models.read_module(model, options.shapes_of(shape))
    with transform.PassContext(opt_level=4, instruments=[*watching, timing]):
        for one in chosen:
            module = one(module)
        if level is not None:
            module = models.optimized(module, level, target)
        report = timing.render()
    if times:
        print(report, file=sys.stderr)
    write_text(str(module).rstrip("\n"), output)
