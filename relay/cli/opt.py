"""`relay opt`: passes over a program, text in and text out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relay.cli import models, options
from relay.cli.output import show, working, write_text

if TYPE_CHECKING:
    from relay.transform.instruments import PassTime


def completed(incomplete: str) -> list[str]:
    """The lists of passes that begin like this, for the shell."""
    from relay.cli.passes import known

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in sorted(known()) if name.startswith(last)]


def opt(
    model: Annotated[
        Path | None,
        typer.Argument(
            metavar="MODEL",
            help="A program (.relay), a model, or `-` for a program on stdin.",
            show_default=False,
        ),
    ] = None,
    passes: Annotated[
        str | None,
        typer.Option(
            help="Passes to run, `fold-constant,dead-code-elimination(inline_once=True)`.",
            show_default=False,
            autocompletion=completed,
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
    json: Annotated[bool, typer.Option("--json", help="Print --list and --times as JSON.")] = False,
) -> None:
    """Run passes over a program and print the result; what passes print goes to stderr."""
    from relay.cli.passes import Printing, known, passes_of

    if listed:
        names = sorted(known())
        show("\n".join(names), json, names)
        return
    if model is None:
        raise typer.BadParameter("give a program, or --list", param_hint="MODEL")
    if (passes is None) == (level is None):
        raise typer.BadParameter("give either --passes or --level", param_hint="--passes")
    import sys
    from json import dumps

    from relay import transform
    from relay.target.target import wanted

    machine = wanted(target)
    chosen = [] if passes is None else passes_of(passes)
    watching = [Printing.of("before", print_before), Printing.of("after", print_after)]
    timing = transform.PassTimingInstrument()
    with working(f"rewriting {model.name}") as progress:
        progress("import", 0, 0)
        module, _ = models.read_module(model, options.shapes_of(shape))
        progress("passes", 0, 0)
        with transform.PassContext(opt_level=4, instruments=[*watching, timing]), machine:
            for one in chosen:
                module = one(module)
            if level is not None:
                module = models.optimized(module, level, target)
            report = dumps(_plain(timing.passes)) if json else timing.render()
    if times:
        print(report, file=sys.stderr)
    write_text(str(module).rstrip("\n"), output)


def _plain(passes: Sequence[PassTime]) -> list[dict[str, Any]]:
    """The times of passes, those inside of others after them."""
    found: list[dict[str, Any]] = []
    pending = [(entry, 0) for entry in reversed(passes)]
    while pending:
        entry, depth = pending.pop()
        found.append({"pass": entry.name, "depth": depth, "seconds": entry.seconds})
        pending += [(inner, depth + 1) for inner in reversed(entry.inner)]
    return found
