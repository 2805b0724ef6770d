"""Exports models to C: an object file, an archive or a shared library, and a header.

    exe.export("net.o")                        net.o, net.h          weights inside
    exe.export("net.a", embed=False)           net.a, net.h, net.weights

    net *model;
    int status = net_create(&model, NULL, 0);
    if (!status) status = net_run(model, inputs, outputs);
    if (status) puts(net_error(status));
    net_destroy(model);

Kernels, the runtime and the functions of the header are one LLVM module, which exports only those
functions. It needs the C library and POSIX threads, nothing of Relay.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from relay.errors import RelayError
from relay.executors.elsewhere import ElsewhereExecutable
from relay.executors.executable import Executable
from relay.executors.straight_line import StraightLineExecutable
from relay.files import as_path, replacing
from relay.target.llvm.c.board import write_board
from relay.target.llvm.c.folder import compiler, make_folder, write_sources
from relay.target.llvm.c.library import StraightLibrary
from relay.target.llvm.c.model import CLibrary, initial_name
from relay.target.llvm.c.static import StaticLibrary
from relay.target.llvm.c.web import write_web
from relay.target.llvm.executable.cross import CrossExecutable
from relay.target.llvm.target import LLVMTarget

KINDS: Final = ("object", "archive", "shared", "folder")


def export(
    exe: Executable,
    target: LLVMTarget,
    path: str | os.PathLike[str],
    kind: str,
    *,
    name: str | None = None,
    embed: bool = True,
    ram: int = 0,
    flash: int = 0,
) -> Path:
    """Write the library to `path` and the header beside it; returns the path of the header."""
    path = as_path(path)
    if kind == "c":
        raise RelayError(
            f"source text in C is not made for `{target}`: compile with target='c', which is for "
            "any processor"
        )
    if kind not in KINDS:
        raise RelayError(f"a model is exported as {', '.join(KINDS)}, not as {kind!r}")
    if kind == "folder":
        return _folder(exe, target, path, name, embed, ram=ram, flash=flash)
    if ram or flash:
        raise RelayError("limits of memory are of folders for microcontrollers")
    if kind == "shared" and target.is_bare:
        raise RelayError(f"there are no shared libraries for {target.arch}: export an object")
    name = identifier(path.stem.removeprefix("lib")) if name is None else name
    library = _checked(exe, target, name)
    header = path.with_suffix(".h")
    with ExitStack() as files:
        # replace all files, or none
        made = files.enter_context(replacing(path, "the model"))
        text = files.enter_context(replacing(header, "its header"))
        folder = Path(files.enter_context(tempfile.TemporaryDirectory()))
        if not embed:
            apart = files.enter_context(replacing(path.with_suffix(".weights"), "its weights"))
            apart.write_bytes(library.weights.digest + library.weights.data())
        text.write_text(library.header(embed))
        data = library.object(embed)
        if kind == "shared":
            single = folder / "model.o"
            single.write_bytes(data)
            _link(single, made, target)
        else:
            made.write_bytes(archive(data, library.functions) if kind == "archive" else data)
    return header


def _checked(exe: Executable, target: LLVMTarget, name: str) -> CLibrary:
    """The library of an executable that can be exported."""
    if isinstance(exe, ElsewhereExecutable) and not exe.is_prepared:
        raise exe.reason  # a library holds what kernels compute from the weights
    if foreign := sorted({kernel.compiler for kernel in exe.program.kernels} - {""}):
        raise RelayError(
            f"a part of the model is compiled by {', '.join(foreign)}, which a library for C does "
            "not bring along; relay.contrib.take_back(mod) gives such parts back to Relay"
        )
    if any(not kernel.ir for kernel in exe.program.kernels):
        raise RelayError("a loaded executable has no code to link; export where it is compiled")
    if identifier(name) != name:
        raise RelayError(f"{name!r} is no name in C")
    return library_of(exe, target, name)


def _folder(
    exe: Executable, target: LLVMTarget, path: Path, name: str | None, embed: bool, **limits: int
) -> Path:
    """Write the model with a program that runs it, and how that is built."""
    if not embed:
        raise RelayError("a model in a folder has its weights inside; export an object without")
    name = identifier(path.name) if name is None else name
    library = _checked(exe, target, name)
    if isinstance(library, StaticLibrary) and target.arch == "wasm32":
        return write_web(path, library)
    if isinstance(library, StaticLibrary):
        return write_board(path, library, **limits)
    if any(limits.values()):
        raise RelayError("limits of memory are of folders for microcontrollers")
    make_folder(path)
    header = export(exe, target, path / f"{name}.o", "object", name=name)
    tensors = (library.inputs, library.outputs) if isinstance(library, StraightLibrary) else None
    write_sources(path, name, target, tensors)
    return header


def library_of(exe: Executable, target: LLVMTarget, name: str) -> CLibrary:
    """The library of an executable."""
    constants = {name: tensor.array for name, tensor in exe.constants.items()}
    state = {initial_name(name): tensor.array for name, tensor in exe.state.items()}
    if exe.code.program is None:
        assert isinstance(exe, StraightLineExecutable | CrossExecutable)
        how = (exe.threads, exe.bound, exe.inputs, exe.outputs)
        parts = (exe.program, target, constants | state, name, *how)
        if target.is_bare:
            return StaticLibrary(*parts, buffers=target.arch == "wasm32")
        return StraightLibrary(*parts)
    from relay.target.llvm.c.program_library import (
        ProgramLibrary,  # not needed for straight-line code
    )

    read = {name: constants[name] for name in exe.code.program.constants}
    return ProgramLibrary(exe.program, target, read | state, name, exe.threads)


def identifier(text: str) -> str:
    """`text` as a C identifier."""
    made = re.sub(r"\W", "_", text, flags=re.ASCII)
    return made if made and not made[0].isdigit() else f"model_{made}"


# --- files ---------------------------------------------------------------------------------------


def archive(data: bytes, symbols: Sequence[str]) -> bytes:
    """An `ar` archive of one object file, with a symbol index."""
    names = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    index_size = 4 + 4 * len(symbols) + len(names)
    begin = 8 + 60 + index_size + index_size % 2
    index = len(symbols).to_bytes(4, "big") + begin.to_bytes(4, "big") * len(symbols) + names
    return b"!<arch>\n" + _member("/", index) + _member("model.o/", data)


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)


def _link(made: Path, path: Path, target: LLVMTarget) -> None:
    """Link one object file to a shared library with the linker of the system."""
    own = ("cc", "gcc", "clang", "ld") if target.arch == LLVMTarget.here().arch else ()
    tools = [tool for tool in (*own, compiler(target)) if shutil.which(tool)]
    if not tools or target.system != LLVMTarget.here().system:
        raise RelayError(
            f"a shared library for {target.arch} needs a linker, and there is none here; "
            'export kind="object" or kind="archive", and link that'
        )
    threads = [] if tools[0] == "ld" else ["-pthread"]
    command = [tools[0], "-shared", *threads, "-o", str(path), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RelayError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")
