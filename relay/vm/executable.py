"""Executables of the virtual machine, the results of `relay.vm.compile`.

exe = relay.vm.compile(mod, "llvm", params)
print(exe.bytecode)                            the program, as text
code, lib = exe.save()                         the program with its weights, and its kernels
exe = relay.vm.Executable.load_exec(code, lib)
"""

from __future__ import annotations

import io
import os
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from relay.errors import RelayError
from relay.executors.cores import default_threads
from relay.executors.executable import Code
from relay.executors.state import HasState, state_of
from relay.executors.weights import HasWeights, Weights
from relay.files import as_path, replacing
from relay.program.program import MAIN, PREPARE, Program, spec_text
from relay.program.text import parse, to_text
from relay.program.verify import verify
from relay.safetensors import load_param_dict, save_param_dict
from relay.target.target import described

PROGRAM = "program.txt"
PARAMS = "params.safetensors"
STATE = "state.safetensors"
INITIAL = "initial.safetensors"
TARGET = "target.txt"


class Library:
    """The kernels of a program, compiled."""

    def __init__(self, code: Code) -> None:
        self.code = code

    def export_library(self, path: str | os.PathLike[str]) -> None:
        """Write the kernels to a file, for `relay.vm.load_library`."""
        members = {f"{i}.o": data for i, data in enumerate(self.code.objects)}
        packed = _pack({TARGET: str(self.code.target).encode(), **members})
        with replacing(path, "the library") as unfinished:
            unfinished.write_bytes(packed)

    def __repr__(self) -> str:
        return f"<Relay library of {len(self.code.objects)} objects for {self.code.target}>"


def load_library(path: str | os.PathLike[str]) -> Library:
    """Kernels from a file written by `Library.export_library`. It contains executable code."""
    try:
        data = as_path(path).read_bytes()
    except OSError as error:
        raise RelayError(f"the library cannot be read: {error}") from None
    members = _unpack(data, f"`{path}` is no library of a virtual machine", [TARGET])
    names = [f"{number}.o" for number in range(len(members) - 1)]
    if not members.keys() >= set(names):
        raise RelayError(f"`{path}` is no library of a virtual machine")
    objects = tuple(members[name] for name in names)
    return Library(Code(described(members[TARGET].decode()), objects))


class Executable(HasWeights, HasState):
    """A program, the code of its kernels and its weights.

    `weights` are the constants that come from outside, by name, `state` the initial values of the
    state, `current` its present ones, if they are others. `threads` is the most threads a kernel
    uses.
    """

    def __init__(
        self,
        program: Program,
        code: Code,
        weights: Mapping[str, np.ndarray],
        threads: int | None = None,
        *,
        state: Mapping[str, np.ndarray] | None = None,
        current: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        verify(program)
        code.target.require_here("the code")
        self.program = program
        self.code = code
        self.threads = default_threads() if threads is None else threads
        self.loaded = code.target.load(
            program.kernels, code.objects, threads=self.threads, support=code.support
        )
        self._weights = Weights(program, self.loaded, self.threads, weights)
        self.threaded = state_of(program, state, current)

    # --- weights

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """The constants of the program, by name."""
        return self._weights.constants.arrays

    # --- inspection

    @property
    def bytecode(self) -> str:
        """The program, as text."""
        return to_text(self.program)

    @property
    def globals(self) -> list[str]:
        """The functions that can be called, by name."""
        return [function.name for function in self.program.functions if function.name != PREPARE]

    @property
    def primitives(self) -> list[str]:
        """The kernels, by name."""
        return [kernel.name for kernel in self.program.kernels]

    primitive_ops = primitives

    @property
    def lib(self) -> Library:
        return Library(self.code)

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of a function's parameters, without the state of `main`."""
        return [param.name for param in self.program[func_name].arguments]

    @property
    def stats(self) -> str:
        """Counts of functions, kernels, data types, constants and instructions."""
        program = self.program
        kinds = Counter(
            type(instruction).__name__
            for function in program.functions
            for instruction in function.instructions
        )
        constants = [f"{c.name}: {spec_text(c.spec)}" for c in program.constants]
        counted = [f"{kind} {count}" for kind, count in kinds.most_common()]
        listed = {
            "functions": [f"@{function.name}" for function in program.functions],
            "kernels": [f"@{name}" for name in self.primitives],
            "data types": [one.name for one in program.types],
            "constants": constants,
        }
        lines = [f"{what} ({len(names)}): {', '.join(names)}" for what, names in listed.items()]
        lines.append(f"instructions ({kinds.total()}): {', '.join(counted)}")
        return "\n".join(line.rstrip(" :") for line in lines)

    # --- files

    def save(self) -> tuple[bytearray, Library]:
        """The program with its weights and its state as bytes, and its kernels."""
        members = {PROGRAM: self.bytecode.encode(), PARAMS: save_param_dict(self.params)}
        if self.threaded is not None:
            members[STATE] = save_param_dict(self.state)
            members[INITIAL] = save_param_dict(self.initial_state)
        return bytearray(_pack(members)), self.lib

    def __reduce__(self) -> Any:
        """Pickled as its parts; unpickling loads executable code."""
        code, lib = self.save()
        return Executable.load_exec, (bytes(code), lib, self.threads)

    @staticmethod
    def load_exec(
        bytecode: bytes | bytearray, lib: Library, threads: int | None = None
    ) -> Executable:
        """The executable from the results of `save`. It contains executable code."""
        if not isinstance(lib, Library):
            raise RelayError(f"kernels come in a relay.vm.Library, found {type(lib).__name__}")
        what = "this is no program of a virtual machine"
        if not isinstance(bytecode, bytes | bytearray | memoryview):
            raise RelayError(f"{what}: expected bytes, found {type(bytecode).__name__}")
        members = _unpack(bytes(bytecode), what, [PROGRAM, PARAMS])
        program = parse(members[PROGRAM].decode(), PROGRAM)
        weights = _arrays(members[PARAMS])
        if MAIN not in program.function_table or not program[MAIN].state:
            return Executable(program, lib.code, weights, threads)
        members = _unpack(bytes(bytecode), what, [STATE, INITIAL])
        kept = {"state": _arrays(members[INITIAL]), "current": _arrays(members[STATE])}
        return Executable(program, lib.code, weights, threads, **kept)

    def __repr__(self) -> str:
        return f"<Relay VM executable of {', '.join(f'@{name}' for name in self.globals)}>"


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    return {name: tensor.array for name, tensor in load_param_dict(data).items()}


def _pack(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            # a fixed time stamp, so that the same executable gives the same bytes
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return buffer.getvalue()


def _unpack(data: bytes, what: str, needed: list[str]) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise RelayError(f"{what}: {error}") from None
    if missing := [name for name in needed if name not in members]:
        raise RelayError(f"{what}: {missing[0]} is missing")
    return members
