"""Inputs of a call: files of NumPy, or random numbers."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.errors import RelayError, did_you_mean

if TYPE_CHECKING:
    from relay.executors.executable import Executable

Call = tuple[tuple[Any, ...], dict[str, Any]]


def call_of(exe: Executable, given: Sequence[str] | None) -> Call:
    """The arguments of a call: those of files, `x=x.npy` or `all.npz`, or random ones."""
    if not given:
        try:
            return exe.example_call()
        except RelayError as error:
            hint = "give the sizes, --shape x=1,3,224,224, or the inputs, --input x=x.npy"
            raise RelayError(f"{error}\n     hint:     {hint}") from None
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for text in given:
        name, equals, file = text.rpartition("=")
        path = Path(file if equals else text)
        loaded = _load(path)
        if isinstance(loaded, dict):
            named.update(loaded)
        elif equals:
            named[name] = loaded
        else:
            positional.append(loaded)
    known = [value.name for value in exe.inputs if getattr(value, "name", None)]
    for name in named:
        if known and name not in known:
            hint = did_you_mean(name, known) or f"there is {', '.join(known)}"
            raise RelayError(f"there is no input `{name}`; {hint}")
    return tuple(positional), named


def _load(path: Path) -> Any:
    """The array in a .npy file, or the arrays of an .npz file by name; nothing is unpickled."""
    import numpy as np

    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise RelayError(f"cannot read `{path}`: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise RelayError(f"`{path}` is no .npy or .npz file of numbers: {error}") from None
