"""Inputs of a call: files of NumPy, images, sound, or numbers made here."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.cli import media
from relay.cli.media import Normal
from relay.errors import RelayError, did_you_mean

if TYPE_CHECKING:
    from relay.executors.executable import Executable
    from relay.target.kernel import TensorSpec

Call = tuple[tuple[Any, ...], dict[str, Any]]
WORDS = ("random", "zeros", "ones")
SIZES = "give the sizes, --shape x=1,3,224,224, or the inputs, --input x=x.npy"


def call_of(
    exe: Executable, given: Sequence[str] | None, seed: int = 0, normal: Normal | None = None
) -> Call:
    """The arguments of a call: those of files and words, `x=x.npy`, `x=zeros`, `all.npz`, or
    random ones."""
    if not given:
        try:
            return exe.example_call(seed)
        except RelayError as error:
            raise RelayError(f"{error}\n     hint:     {SIZES}") from None
    positional: list[Any] = []
    named: dict[str, Any] = {}
    known = [value.name for value in exe.inputs if getattr(value, "name", None)]
    for text in given:
        name, equals, source = text.rpartition("=")
        if not equals:
            source = text
        if name and known and name not in known:
            raise _unknown(name, known)
        place = known.index(name) if name in known else len(positional)
        loaded = _load(exe, source, place, seed, normal or Normal())
        if isinstance(loaded, dict):
            named.update(loaded)
        elif name:
            named[name] = loaded
        else:
            positional.append(loaded)
    for name in named:
        if known and name not in known:
            raise _unknown(name, known)
    return tuple(positional), named


def _unknown(name: str, known: Sequence[str]) -> RelayError:
    hint = did_you_mean(name, known) or f"there is {', '.join(known)}"
    return RelayError(f"there is no input `{name}`; {hint}")


def _load(exe: Executable, source: str, place: int, seed: int, normal: Normal) -> Any:
    """The tensor of one input, or the arrays of an .npz file by name."""
    path = Path(source)
    if source in WORDS and not path.exists():
        return _made(source, _spec(exe, place, source), seed + place)
    if media.is_media(path):
        return media.load(path, _spec(exe, place, source), normal)
    return _arrays(path)


def _spec(exe: Executable, place: int, source: str) -> TensorSpec:
    """The type of the input at a place, which is one tensor."""
    from relay.program.program import MAIN
    from relay.target.kernel import TensorSpec

    main = exe.program[MAIN]
    values = [param.value for param in main.arguments]
    if place >= len(values):
        raise RelayError(f"`{source}` is input number {place + 1}; the model takes {len(values)}")
    value = values[place]
    spec = main.registers[value] if isinstance(value, int) else None
    if not isinstance(spec, TensorSpec):
        dtype = getattr(spec, "dtype", None)
        if dtype is None:
            raise RelayError(f"`{source}` is for an input that is one tensor")
        return TensorSpec((), dtype)
    return spec


def _made(word: str, wanted: TensorSpec, seed: int) -> Any:
    """A tensor of random numbers, zeros or ones."""
    import numpy as np

    from relay import dtypes

    shape = tuple(size for size in wanted.shape if isinstance(size, int))
    if shape != wanted.shape:
        raise RelayError(f"the input has dynamic sizes, and `{word}` does not say them: {SIZES}")
    kind = dtypes.to_numpy(wanted.dtype)
    if word == "random" and dtypes.is_float(wanted.dtype):
        return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(kind)
    return (np.ones if word == "ones" else np.zeros)(shape, kind)


def batches(given: Sequence[Path]) -> list[Any]:
    """Batches of a dataset: files of NumPy, or folders of them, in the order of their names."""
    found: list[Any] = []
    for path in given:
        files = sorted(path.glob("*.np[yz]")) if path.is_dir() else [path]
        if not files:
            raise RelayError(f"there is no .npy or .npz file in `{path}`")
        found += map(_arrays, files)
    return found


def _arrays(path: Path) -> Any:
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
