"""Compile a network for machines that are not here: its memory and the size of its code are known
before it ever runs, and each machine gets what its tools expect."""

import tempfile
from pathlib import Path

import relay
from relay.testing import mlp

TARGETS = {
    "a phone": "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76",
    "an older board": "llvm -device=arm_cpu -model=rasp3b",
    "a RISC-V machine": "llvm -mtriple=riscv64-linux-gnu -mattr=+v",
    "a microcontroller": "llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m4",
}

mod, params = mlp.get_workload(1, image_shape=(1, 8, 8))

with tempfile.TemporaryDirectory() as place:
    for name, target in TARGETS.items():
        exe = relay.compile(mod, params, target=target, threads=1)
        folder = Path(place) / name.replace(" ", "_")
        exe.export(folder, "folder", name="net")
        size = (folder / "net.o").stat().st_size
        print(f"{name}: {size:,} bytes, an arena of {exe.memory.arena:,}")
        print("   ", ", ".join(sorted(path.name for path in folder.iterdir())))

    try:
        exe(*exe.example_inputs())
    except relay.RelayError as error:
        print(error)

    try:
        exe.export(Path(place) / "small", "folder", ram=8 << 10, flash=32 << 10)
    except relay.RelayError as error:
        print(error)
