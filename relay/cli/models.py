"""Model files as modules and as executables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.errors import RelayError
from relay.progress import Progress, silent

if TYPE_CHECKING:
    from relay.executors.executable import Executable
    from relay.ir.module import IRModule

PROGRAM, EXECUTABLE = ".relay", ".relayx"
STDIN = Path("-")
SAVED_MODEL = "saved_model.pb"  # what says that a folder is a model of TensorFlow
DEFAULTS = {"level": 3}  # options of a compilation that change nothing
Shapes = Mapping[str, "tuple[int, ...] | int"]


def read_module(path: Path, shapes: Shapes) -> tuple[IRModule, Mapping[str, Any]]:
    """The module of a model file, and its weights; `shapes` are those of inputs, by name."""
    if path == STDIN:
        return _parse_text(sys.stdin.buffer.read(), "<stdin>"), {}
    _require_file(path)
    if path.suffix == EXECUTABLE:
        raise RelayError(
            f"`{path}` is an executable: the program it was compiled from is not in it"
        )
    if path.suffix == PROGRAM:
        if shapes:
            raise RelayError(
                f"the shapes of `{path}` are in its types, and no --shape changes them"
            )
        return _parse_text(path.read_bytes(), str(path)), {}
    from relay.frontend import from_keras, from_mxnet, from_onnx, from_tensorflow, from_tflite
    from relay.frontend.model import (
        Example,
        as_module,
        is_keras,
        is_mxnet,
        is_pytorch,
        is_tensorflow,
        is_tflite,
    )

    if not shapes:
        return as_module(path)
    if is_pytorch(path):
        return as_module(path, Example(input_infos=list(shapes.items())))
    if is_tflite(path):
        return from_tflite(path, shapes)  # type: ignore[no-any-return]
    for is_one, read in (
        (is_keras, from_keras),
        (is_mxnet, from_mxnet),
        (is_tensorflow, from_tensorflow),
    ):
        if is_one(path):
            return read(path, _of_inputs(path, shapes))  # type: ignore[no-any-return]
    return from_onnx(path, shapes, freeze_params=None)  # type: ignore[no-any-return]


def executable(
    path: Path,
    shapes: Shapes,
    threads: int | None,
    target: str | None,
    progress: Progress = silent,
    **options: Any,
) -> Executable:
    """A model file compiled, or an executable loaded."""
    import relay

    _require_file(path)
    if path.suffix != EXECUTABLE:
        progress("import", 0, 0)
        module, weights = read_module(path, shapes)
        options |= {"threads": threads, "target": target, "progress": progress}
        made: Executable = relay.compile(module, weights, **options)
        return made
    given = {"shape": shapes, "target": target, **options}
    if changed := [name for name, value in given.items() if value and value != DEFAULTS.get(name)]:
        raise RelayError(f"`{path}` is compiled already: it takes no --{changed[0]}")
    loaded: Executable = relay.load(path, threads=threads)
    return loaded


def optimized(module: IRModule, level: int, target: str | None) -> IRModule:
    """The module after the passes that `relay.compile` runs at this level."""
    from relay import pipeline
    from relay.program.straight import is_straight_line

    module = pipeline.typed(level)(module)
    chosen = pipeline.passes if is_straight_line(module) else pipeline.whole_program
    return chosen(level, target)(module)


def _parse_text(data: bytes, name: str) -> IRModule:
    import relay

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise RelayError(f"`{name}` is not a program: its bytes are not UTF-8") from None
    module: IRModule = relay.parse(text, source_name=name)
    return module


def _of_inputs(path: Path, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Shapes of inputs, of a format whose dimensions have no names."""
    found = {name: shape for name, shape in shapes.items() if isinstance(shape, tuple)}
    if named := [name for name in shapes if name not in found]:
        raise RelayError(
            f"`{path}` has no dimension `{named[0]}`; the shape of an input with one axis is "
            f"written {named[0]}={shapes[named[0]]},"
        )
    return found


def _require_file(path: Path) -> None:
    if not path.exists():
        raise RelayError(f"there is no file `{path}`")
    if path.is_dir() and not (path / SAVED_MODEL).is_file():
        raise RelayError(f"`{path}` is a folder, not a model")
