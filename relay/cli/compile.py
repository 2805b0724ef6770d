"""`relay compile`: a model into an executable, a library, or the text of a stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relay.cli import models, options
from relay.cli.inputs import batches
from relay.cli.output import STDOUT, working, write_text
from relay.errors import RelayError

if TYPE_CHECKING:
    from relay.driver import Compiled
    from relay.executors.executable import Executable


class Emit(StrEnum):
    """What to write."""

    artifact = "artifact"
    object = "object"
    archive = "archive"
    shared = "shared"
    c = "c"
    folder = "folder"
    relay = "relay"
    onnx = "onnx"
    program = "program"
    expressions = "expressions"
    loops = "loops"
    llvm = "llvm"
    asm = "asm"


SUFFIXES = {
    ".relayx": Emit.artifact,
    ".o": Emit.object,
    ".a": Emit.archive,
    ".so": Emit.shared,
    ".c": Emit.c,
    ".relay": Emit.relay,
    ".onnx": Emit.onnx,
    ".ll": Emit.llvm,
    ".s": Emit.asm,
}
LIBRARIES = (Emit.object, Emit.archive, Emit.shared, Emit.c, Emit.folder)


def compile(
    model: options.Model,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The file to write; `-` prints a text.")
    ],
    emit: Annotated[
        Emit | None,
        typer.Option(help="What to write.", show_default="what the name of the file says"),
    ] = None,
    shape: options.Shapes = None,
    target: options.Machine = None,
    level: options.Level = 3,
    threads: options.Threads = None,
    quantize: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DATA",
            help="Compute with 8-bit integers; DATA is an .npy or .npz file with a batch of "
            "inputs, or a folder of them. May be repeated.",
            show_default=False,
        ),
    ] = None,
    exact: options.Exact = False,
    checked: Annotated[
        bool, typer.Option("--checked", help="An index out of range ends the run.")
    ] = False,
    embed: Annotated[
        bool,
        typer.Option(
            "--embed/--no-embed",
            help="The weights of a library inside of it, or in a file beside it (.weights).",
        ),
    ] = True,
) -> None:
    """Compile a model: an executable (.relayx), a library for C (.o, .a, .so) or its source (.c),
    or a text.

    For another machine a name without an ending is a folder that a C compiler builds, or, with
    `--target wasm32`, a module of WebAssembly with a page that runs it on a picture.

    The texts are `relay`, the program after the passes of the level; `program`, the instructions
    around the kernels; `expressions`, `loops`, `llvm` and `asm`, the kernels on their way to code.
    `onnx` is the program as a model of ONNX.
    """
    kind = emit or SUFFIXES.get(output.suffix)
    if kind is None and output != STDOUT and not output.suffix:
        named = (target or "").split()
        kind = Emit.folder if named and named[0] in ("llvm", "wasm32") else None
    if kind is None:
        known = ", ".join(SUFFIXES)
        raise typer.BadParameter(
            f"`{output}` does not say what to write: give --emit, or a name that ends in {known}",
            param_hint="--output",
        )
    if output == STDOUT and kind in (Emit.artifact, Emit.onnx, *LIBRARIES):
        raise typer.BadParameter(
            f"`{kind.value}` is not printed, but written to a file", param_hint="--output"
        )
    if not embed and kind not in LIBRARIES:
        raise typer.BadParameter(
            f"`{kind.value}` has no weights to leave out", param_hint="--no-embed"
        )
    if kind is Emit.c:
        target = _source_target(target)
        if output.is_dir():
            output /= f"{model.stem}.c"
    if output != STDOUT and not output.absolute().parent.is_dir():
        raise RelayError(f"cannot write `{output}`: there is no folder `{output.parent}`")
    shapes = options.shapes_of(shape)
    with working(f"compiling {model.name}") as progress:
        how: dict[str, Any] = {"level": level, "exact": exact, "checked": checked}
        if kind in (Emit.relay, Emit.onnx, Emit.expressions, Emit.loops):
            read = models.read_module(model, shapes)
            if quantize:
                progress("quantization", 0, 0)
                read = _integers(quantize)(*read), {}
            if kind in (Emit.relay, Emit.onnx):
                _write_module(*read, kind, level, target, output)
            else:
                write_text(_kernels(*read, kind, target=target, **how), output)
            return
        if quantize:
            how["quantize"] = _integers(quantize)
        if kind in TEXTS and model.suffix != models.EXECUTABLE:
            from relay.driver import compile_program  # code of other machines is not loaded

            progress("import", 0, 0)
            read = models.read_module(model, shapes)
            made = compile_program(*read, target=target, progress=progress, **how)
            write_text(TEXTS[kind](made), output)
            return
        exe = models.executable(model, shapes, threads, target, progress, **how)
        if kind is Emit.artifact:
            exe.save(output)
        elif kind in LIBRARIES:
            exe.export(output, kind.value, embed=embed)
        else:
            write_text(TEXTS[kind](exe), output)


def _source_target(target: str | None) -> str:
    """The target that is written as C."""
    from relay.target.target import described

    if target is None:
        return Emit.c.value
    if described(target).kind != Emit.c.value:
        raise RelayError(
            f"source text in C is for any processor, and not for `{target}`; leave --target away, "
            "or emit an object, an archive or a shared library"
        )
    return target


def _integers(data: Sequence[Path]) -> Callable[[Any, Any], Any]:
    """What makes integers of a module and its weights."""
    from relay.quantize import int8

    return int8(batches(data))


def _write_module(
    module: Any, weights: Any, kind: Emit, level: int, target: str | None, output: Path
) -> None:
    if kind is Emit.relay:
        write_text(str(models.optimized(module, level, target)).rstrip("\n"), output)
        return
    from relay.export import to_onnx
    from relay.files import replacing

    proto = to_onnx(module, weights)
    with replacing(output, "the model") as unfinished:
        unfinished.write_bytes(proto.SerializeToString())


def _kernels(module: Any, weights: Any, kind: Emit, **how: Any) -> str:
    """The definitions or the loops of all kernels."""
    from relay.driver import explained

    made = explained(module, weights, **how)
    texts = {one.kernel.name: getattr(one, kind.value) for one in made}
    return "\n\n".join(f"// {name}\n{text}" for name, text in texts.items())


def _llvm(made: Compiled | Executable) -> str:
    return "\n".join(kernel.ir for kernel in made.program.kernels)


def _assembly(made: Compiled | Executable) -> str:
    return made.code.target.assembly([kernel.ir for kernel in made.program.kernels])


TEXTS: dict[Emit, Callable[[Compiled | Executable], str]] = {
    Emit.program: lambda made: str(made.program),
    Emit.llvm: _llvm,
    Emit.asm: _assembly,
}
