"""The command line, and how errors end it.

Exit codes: 0 done, 1 an error of the model, the data or the machine, 2 a wrong command line, 130
interrupted, 141 nobody reads the output any more. The first line on stderr says what is wrong, the
others where, and what to try.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from signal import SIG_IGN, SIGINT, signal
from typing import Annotated, Any, NoReturn

import typer

from relay.cli import bench, cache, compile, doctor, inspect, opt, profile, run, tune, view
from relay.cli.output import CLOSED, say
from relay.errors import RelayError

WRONG_COMMAND, INTERRUPTED = 2, 130

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
app.command("tune")(tune.tune)
app.command("inspect")(inspect.inspect)
app.command("opt")(opt.opt)
app.command("view")(view.view)
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

        say(f"relay {__version__}")
        raise typer.Exit


UsageError: Any = typer.BadParameter.__base__  # click's own, which typer does not export


def main() -> None:
    """The entry point of the command `relay`."""
    try:
        status = app(prog_name="relay", standalone_mode=False)
        if status == INTERRUPTED:  # typer's answer to Ctrl-C
            raise KeyboardInterrupt
        sys.exit(status)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # rich's end of a help nobody reads
            sys.exit(CLOSED)
        raise
    except (typer.Abort, KeyboardInterrupt):
        signal(SIGINT, SIG_IGN)  # it is ending already
        fail("interrupted", INTERRUPTED)
    except UsageError as error:
        text = error.format_message()
        if "\n" in text or error.ctx is None:  # the help, where there was no argument
            error.show()
            sys.exit(WRONG_COMMAND)
        fail(f"{text}\n     hint:     {error.ctx.command_path} --help", WRONG_COMMAND)
    except RelayError as error:
        fail(f"{error}")
    except MemoryError:
        fail("there is not enough memory")
    except OSError as error:  # of a file that is read; those that are written have errors of Relay
        place = f"`{error.filename}`: " if error.filename else ""
        fail(f"{place}{error.strerror or error}")


def fail(message: str, status: int = 1) -> NoReturn:
    """End with an error; by default one of the model, the data or the machine."""
    with suppress(BrokenPipeError):
        print(f"relay: {message}", file=sys.stderr, flush=True)
    sys.exit(status)
