"""Networks on ARM as counts of instructions, under QEMU, and what they take of memory.

    python benchmarks/arm.py                               the table of the paper
    python benchmarks/arm.py --networks resnet-18          some networks
    python benchmarks/arm.py --size 64                     smaller images
    python benchmarks/arm.py --target "llvm -mtriple=armv7-linux-gnueabihf"
    python benchmarks/arm.py --json out.json               records besides the table

Schemes are float32, int8 with sums of 32 bits, and int8 with sums of 16 bits where they fit. A
count is that of two calls less that of one, on one thread, and says nothing about caches. Needs
QEMU's user mode, the cross compiler of the target, and one for `tools/count_instructions.c`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import relay
from relay import quantize
from relay.target import Target
from relay.target.llvm.architectures import FACTS
from relay.target.llvm.objects import section_sizes
from relay.testing import inception_v3, mobilenet, resnet

ROOT = Path(__file__).parent.parent
EMULATORS = {"aarch64": "qemu-aarch64", "arm": "qemu-arm", "riscv64": "qemu-riscv64"}
NETWORKS: dict[str, Callable[[int], Any]] = {
    "resnet-18": lambda size: resnet.get_workload(1, 1000, 18, (3, size, size)),
    "mobilenet": lambda size: mobilenet.get_workload(1, 1000, (3, size, size)),
    "inception-v3": lambda size: inception_v3.get_workload(1, 1000, (3, size, size)),
}
SIZES = {"resnet-18": 224, "mobilenet": 224, "inception-v3": 299}
SCHEMES: dict[str, quantize.Scheme | None] = {
    "float32": None,
    "int8/int32": quantize.INT8,
    "int8/int16": replace(quantize.INT8, name="sums of 16 bits", sums="int16"),
}

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
static _Alignas(64) char input[NET_INPUT_0_BYTES], output[NET_OUTPUT_0_BYTES];
int main(int count, char **arguments) {
  FILE *file = fopen(arguments[2], "rb");
  if (count != 4 || !file || fread(input, 1, sizeof input, file) != sizeof input) return 1;
  net *model;
  const void *inputs[] = {input};
  void *outputs[] = {output};
  if (net_create(&model, NULL, 1)) return 2;
  for (int turn = atoi(arguments[1]); turn > 0; turn--)
    if (net_run(model, inputs, outputs)) return 3;
  file = fopen(arguments[3], "wb");
  if (!file || fwrite(output, 1, sizeof output, file) != sizeof output || fclose(file)) return 4;
  net_destroy(model);
  return 0;
}
"""


def measured(name: str, scheme: str, size: int, target: Target, plugin: Path) -> dict[str, Any]:
    """A network in a scheme: instructions of a call, bytes, and how far it is from this machine."""
    module, params = NETWORKS[name](size)
    chosen = SCHEMES[scheme]
    (shape,) = (info.shape for info in relay.compile(module, params).inputs)
    images = np.random.default_rng(0).standard_normal((2, *shape[1:])).astype("float32")
    how: dict[str, Any] = {}
    if chosen is not None:
        batches = [{"data": images[i : i + 1]} for i in range(len(images))]
        how["quantize"] = quantize.int8(batches, scheme=chosen)
    start = time.perf_counter()
    exe = relay.compile(module, params, target=target, threads=1, **how)
    seconds = time.perf_counter() - start
    expected = relay.compile(module, params, **how)(images[:1])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        exe.export(folder / "net.o")
        (folder / "main.c").write_text(MAIN)
        images[:1].tofile(folder / "input")
        compiler = f"{FACTS[target.arch].tools}gcc"
        command = [compiler, "-O1", "-o", "main", "main.c", "net.o", "-pthread"]
        subprocess.run(command, cwd=folder, check=True)
        counts = [counted(target, folder, plugin, turns) for turns in (1, 2)]
        found = np.fromfile(folder / "output", np.float32).reshape(expected.shape)
        sizes = section_sizes((folder / "net.o").read_bytes())
    scale = float(np.abs(expected).max())
    return {
        "network": name,
        "scheme": scheme,
        "size": size,
        "instructions": counts[1] - counts[0],
        "code": sizes.code + sizes.constants - exe.memory.constants,
        "weights": exe.memory.constants,
        "arena": exe.memory.arena,
        "error": float(np.abs(found - expected).max()) / scale,
        "seconds": seconds,
    }


def counted(target: Target, folder: Path, plugin: Path, turns: int) -> int:
    """The instructions of a program that calls the model so many times."""
    root = f"/usr/{FACTS[target.arch].tools.rstrip('-')}"
    options = ["-cpu", "max", "-L", root, "-plugin", str(plugin), "-d", "plugin", "-D", "count"]
    command = [EMULATORS[target.arch], *options, "./main", str(turns), "input", "output"]
    subprocess.run(command, cwd=folder, check=True)
    return int((folder / "count").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    parser.add_argument("--size", type=int, default=0, help="of images; 0: those of the networks")
    parser.add_argument("--target", default="llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    target = Target(given.target)
    needed = (EMULATORS.get(target.arch, "no emulator"), f"{FACTS[target.arch].tools}gcc", "cc")
    if missing := [tool for tool in needed if shutil.which(tool) is None]:
        sys.exit(f"not installed: {', '.join(missing)}")
    records = []
    with tempfile.TemporaryDirectory() as place:
        plugin = Path(place) / "count.so"
        source = ROOT / "tools" / "count_instructions.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", plugin, source], check=True)
        print(f"{target}\n")
        print("network        scheme        10^6 instr.  code kB  weights kB  arena kB  difference")
        for name in given.networks.split(","):
            for scheme in given.schemes.split(","):
                one = measured(name, scheme, given.size or SIZES[name], target, plugin)
                records.append(one)
                print(
                    f"{name:<14} {scheme:<11} {one['instructions'] / 1e6:>13,.1f} "
                    f"{one['code'] / 1000:>8,.0f} {one['weights'] / 1000:>11,.0f} "
                    f"{one['arena'] / 1000:>9,.0f} {one['error']:>11.1e}",
                    flush=True,
                )
    if given.json:
        given.json.write_text(json.dumps({"target": str(target), "records": records}, indent=1))


if __name__ == "__main__":
    main()
