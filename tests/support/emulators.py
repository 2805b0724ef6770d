"""Programs for other machines, built with cross compilers and run by emulators.

    machine = MACHINES["arm"]
    exe = relay.compile(model, target=machine.target)
    run_model(machine, exe, folder, [x])            [y]

What is not installed is a reason to skip (`needs`); Debian has them in the packages `qemu-user`,
`gcc-aarch64-linux-gnu`, `gcc-arm-linux-gnueabihf` and `gcc-riscv64-linux-gnu`.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from relay import dtypes


@dataclass(frozen=True)
class Machine:
    """A machine: its target, and what programs for it are built and run with."""

    target: str
    prefix: str  # of the names of its tools
    emulator: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The tools that are not installed."""
        tools = (f"{self.prefix}gcc", self.emulator[0], "make")
        return [tool for tool in tools if shutil.which(tool) is None]

    def run(self, command, **options):
        """Run a program for this machine."""
        root = ("-L", f"/usr/{self.prefix.rstrip('-')}")
        command = [self.emulator[0], *root, *self.emulator[1:], *map(str, command)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    def build(self, folder, *arguments):
        """Compile a program in C."""
        flags = ("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")
        command = [f"{self.prefix}gcc", *flags, *map(str, arguments), "-pthread"]
        subprocess.run(command, cwd=folder, check=True)


MACHINES = {
    "aarch64": Machine(
        "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76",
        "aarch64-linux-gnu-",
        ("qemu-aarch64", "-cpu", "max"),
    ),
    "arm": Machine(
        "llvm -mtriple=armv7-linux-gnueabihf", "arm-linux-gnueabihf-", ("qemu-arm", "-cpu", "max")
    ),
    "riscv64": Machine(
        "llvm -mtriple=riscv64-linux-gnu", "riscv64-linux-gnu-", ("qemu-riscv64", "-cpu", "rv64")
    ),
    "riscv64v": Machine(
        "llvm -mtriple=riscv64-linux-gnu -mattr=+v",
        "riscv64-linux-gnu-",
        ("qemu-riscv64", "-cpu", "rv64,v=true,vlen=128"),
    ),
}


def needs(name: str) -> Machine:
    """The machine of that name; the test is skipped if its tools are not installed."""
    machine = MACHINES[name]
    if machine.missing:
        pytest.skip(f"not installed: {', '.join(machine.missing)}")
    return machine


def run_model(machine: Machine, exe, folder: Path, inputs, name="net"):
    """The results of straight-line code, exported, built and run."""
    place = Path(folder) / name
    exe.export(place, "folder", name=name)
    command = ["make", "-s", "-C", str(place), "CFLAGS=-O1 -Wall -Wextra -Werror"]
    subprocess.run(command, check=True)
    given = [place / f"input{number}" for number in range(len(inputs))]
    for file, array in zip(given, inputs, strict=True):
        np.ascontiguousarray(array).tofile(file)
    made = [place / f"output{number}" for number in range(len(exe.outputs))]
    done = machine.run([place / name, *given, *made])
    assert done.returncode == 0, done.stderr + done.stdout
    return [
        np.fromfile(file, dtypes.to_numpy(info.dtype)).reshape(info.shape)
        for file, info in zip(made, exe.outputs, strict=True)
    ]
