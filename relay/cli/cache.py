"""`relay cache`: the folder of compiled kernels."""

from __future__ import annotations

import typer

from relay.cli import options
from relay.cli.output import show

app = typer.Typer(help="The folder of compiled kernels.", no_args_is_help=True)


@app.command()
def info(json: options.Json = False) -> None:
    """Where compiled kernels are kept, and how much they take."""
    from relay.cache import Cache
    from relay.executors.report import size_text

    cache = Cache.default()
    size, limit = cache.size(), cache.limit
    folder = None if cache.path is None else str(cache.path)
    text = f"{folder}: {size_text(size)} of {size_text(limit)}" if folder else "nothing is kept"
    show(text, json, {"folder": folder, "bytes": size, "limit": limit})


@app.command()
def clear(json: options.Json = False) -> None:
    """Remove all compiled kernels."""
    from relay.cache import Cache
    from relay.executors.report import size_text

    cache = Cache.default()
    size = cache.size()
    cache.clear()
    show(f"removed {size_text(size)}", json, {"removed": size})
