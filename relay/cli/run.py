"""`relay run`: call a model once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relay.cli import models, options
from relay.cli.inputs import call_of
from relay.cli.media import Normal, numbers
from relay.cli.output import show, working
from relay.errors import RelayError

if TYPE_CHECKING:
    from relay.executors.executable import Executable


def run(
    model: options.Model,
    given: options.Inputs = None,
    seed: options.Seed = 0,
    mean: options.Mean = None,
    std: options.Std = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="An .npz file for the results, or .npy for a single one."
        ),
    ] = None,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Run a model on inputs from files, or on random ones, and print or save the results."""
    if output is not None and output.suffix not in (".npy", ".npz"):
        raise typer.BadParameter("results are saved as .npy or .npz", param_hint="--output")
    with working(f"compiling {model.name}") as progress:
        shapes = options.shapes_of(shape)
        exe = models.executable(model, shapes, threads, target, progress, level=level)
    normal = Normal(numbers(mean, "--mean"), numbers(std, "--std"))
    args, named = call_of(exe, given, seed, normal)
    with working("running"):
        results = _by_name(exe, exe(*args, **named))
    if output is not None:
        _save(results, output)
        return
    plain = {
        name: {"shape": list(a.shape), "dtype": str(a.dtype), "data": a.tolist()}
        for name, a in results.items()
    }
    lines = [f"{name}: {a.dtype}{list(a.shape)}\n{a}" for name, a in results.items()]
    show("\n".join(lines), json, plain)


def _by_name(exe: Executable, result: Any) -> dict[str, Any]:
    """The tensors of a result, as arrays by the names of the outputs."""
    import numpy as np

    found: dict[str, Any] = {}
    pending = [("", result)]
    names = [getattr(output, "name", "") for output in exe.outputs]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{path}.{k}".strip("."), v) for k, v in reversed(value.items())]
        elif isinstance(value, list | tuple):
            numbered = [(f"{path}.{i}".strip("."), v) for i, v in enumerate(value)]
            pending += reversed(numbered)
        elif isinstance(value, int | float | complex | np.generic) or hasattr(value, "__dlpack__"):
            found[path or "0"] = np.asarray(value)
        elif value is not None:
            raise RelayError(
                f"the result has a {type(value).__name__}: what is no tensor is neither printed "
                "nor saved; call the model from Python"
            )
    if len(names) == len(found) and all(names) and len(set(names)) == len(names):
        return dict(zip(names, found.values(), strict=True))
    return {f"output_{path}": array for path, array in found.items()}


def _save(results: dict[str, Any], path: Path) -> None:
    import numpy as np

    from relay.executors.arrays import write_npz
    from relay.files import replacing

    if path.suffix == ".npy" and len(results) != 1:
        raise RelayError(f"there are {len(results)} results, which take an .npz file: `{path}`")
    with replacing(path, "the results") as unfinished, unfinished.open("wb") as file:
        if path.suffix == ".npy":
            np.save(file, next(iter(results.values())), allow_pickle=False)
            return
        write_npz(file, results)
