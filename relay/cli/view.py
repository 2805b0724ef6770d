"""`relay view`: a page with everything the compiler made of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relay.cli import models, options
from relay.cli.inputs import call_of
from relay.cli.output import say, working
from relay.errors import RelayError

if TYPE_CHECKING:
    from relay.viz.serve import Server


def view(
    model: options.Model,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The page to write.", show_default="MODEL with .html"),
    ] = None,
    serve: Annotated[
        bool,
        typer.Option(
            "--serve", help="Serve the page to this machine, anew whenever the model changes."
        ),
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="For --serve; 0 is any.")] = 0,
    given: options.Inputs = None,
    roof: Annotated[
        bool, typer.Option("--roof/--no-roof", help="Measure how fast the machine is.")
    ] = True,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    threads: options.Threads = None,
) -> None:
    """Write one HTML file: every pass, the graph, kernels down to assembly, memory, time.

    The file needs no network. With --serve it is served on the loopback address instead, to whom
    has the token in the address that is printed.
    """
    how: dict[str, Any] = {"target": target, "level": level, "threads": threads}
    shapes = options.shapes_of(shape)
    if not serve:
        from relay.files import replacing

        place = Path(f"{model.name}.html") if output is None else output
        text = _page(model, shapes, given, roof, None, how)
        with replacing(place, "the page") as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        return
    if output is not None:
        raise typer.BadParameter("a page is either written or served", param_hint="--output")
    from relay.viz.serve import Server

    def version() -> str:
        try:
            found = model.stat()
        except OSError as error:
            raise RelayError(f"cannot read `{model}`: {error.strerror or error}") from None
        return f"{found.st_mtime_ns}.{found.st_size}"

    try:
        server = Server(lambda at: _page(model, shapes, given, roof, at, how), version, port)
    except OSError as error:
        raise RelayError(f"port {port} cannot be used: {error.strerror or error}") from None
    _run(server)


def _run(server: Server) -> None:
    with server:
        server.page()  # errors of the model are those of the command
        say(server.url)
        server.serve_forever()


def _page(
    model: Path,
    shapes: models.Shapes,
    given: Any,
    roof: bool,
    live: str | None,
    how: dict[str, Any],
) -> str:
    from relay.viz.collect import collect, with_roof
    from relay.viz.page import page

    with working(f"compiling {model.name}") as progress:
        module, weights = models.read_module(model, shapes)
        data = collect(
            module,
            weights,
            title=model.name,
            call=lambda exe: call_of(exe, given),
            progress=progress,
            **how,
        )
        if roof:
            progress("roof", 0, 0)
            data = with_roof(data, how["threads"])
    if live is not None:
        data["live"] = {"version": live}
    return page(data)
