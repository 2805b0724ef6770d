"""The command line, and how errors end it.

Exit codes: 0 done, 1 an error of the model, the data or the machine, 2 a wrong command line, 130
interrupted. The first line on stderr says what is wrong; those after it where, and what to try.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from relay.cli import bench, cache, compile, doctor, inspect, opt, profile, run
from relay.errors import RelayError

app = typer.Typer(
    name="relay",
    help="Compile, run, measure and inspect deep-learning models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("compile")(compile.compile)
app.command("run")(run.run)
app.command("bench")(bench.bench)
app.command("profile")(profile.profile)
app.command("inspect")(inspect.inspect)
app.command("opt")(opt.opt)
app.command("doctor")(doctor.doctor)
app.add_typer(cache.app, name="cache")


@app.callback(invoke_without_command=True)
def relay(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Compile, run, measure and inspect deep-learning models."""
    if version:
        from relay import __version__

        print(f"relay {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point of the command `relay`."""
    try:
        app(prog_name="relay")
    except RelayError as error:
        print(f"relay: {error}", file=sys.stderr)
        sys.exit(1)
