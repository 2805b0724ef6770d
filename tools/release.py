"""Build the source distribution and the wheel, and try the wheel in an environment of its own.

    python tools/release.py dist             build into dist/, and try it
    python tools/release.py dist v0.2.0      the same, for a tag, which must be that version

The wheel is built from the source distribution, so that what is missing there is missed here.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta; print(build_meta.build_{kind}({folder!r}))"
PROGRAM = """
import numpy as np, relay
x = relay.var("x", shape=(2, 3))
exe = relay.compile(relay.Function([x], relay.nn.relu(x)))
assert (exe(np.float32([[1, -2, 3]] * 2)) == np.float32([[1, 0, 3]] * 2)).all()
open("relu.relay", "w").write(relay.IRModule.from_expr(relay.Function([x], relay.exp(x))).astext())
"""
COMMANDS = (
    ("--version",),
    ("run", "relu.relay"),
    ("compile", "relu.relay", "-o", "relu.relayx"),
    ("view", "relu.relay", "--no-roof"),
    ("doctor", "--no-roof"),
)


def version() -> str:
    """The version of the package, which `relay/__init__.py` says."""
    text = (ROOT / "relay" / "__init__.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    return str(found)


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; it must succeed, and sees nothing of the working tree."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "RELAY_CHECKED")}
    environment["RELAY_CACHE_DIR"] = "off"
    parts = [str(part) for part in command]
    done = subprocess.run(parts, cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(parts)}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path, *packages: str | Path) -> Path:
    """The Python of a new environment with these packages and nothing else."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "-q", "--disable-pip-version-check", *packages, cwd=folder)
    return python


def build(dist: Path, scratch: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    dist.mkdir(parents=True, exist_ok=True)
    python = environment(scratch / "build", "setuptools>=77")
    folder = str(dist.resolve())
    made = run(python, "-c", BUILD.format(kind="sdist", folder=folder), cwd=ROOT)
    source = dist / made.splitlines()[-1]
    with tarfile.open(source) as archive:
        archive.extractall(scratch / "source", filter="data")
    (root,) = (scratch / "source").iterdir()
    made = run(python, "-c", BUILD.format(kind="wheel", folder=folder), cwd=root)
    return source, dist / made.splitlines()[-1]


def try_out(wheel: Path, scratch: Path) -> None:
    """Compile, run and view a program with nothing but the wheel."""
    python = environment(scratch / "bare", wheel.resolve())
    place = scratch / "work"
    place.mkdir()
    run(python, "-c", PROGRAM, cwd=place)
    for command in COMMANDS:
        run(python.with_name("relay"), *command, cwd=place)
    if not (place / "relu.relay.html").stat().st_size:
        raise SystemExit("the page is empty")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Build and try a release.")
    parser.add_argument("dist", type=Path, help="the folder for what is built")
    parser.add_argument("tag", nargs="?", help="the tag of the release, v0.2.0")
    given = parser.parse_args()
    if given.tag is not None and given.tag != f"v{version()}":
        raise SystemExit(f"the tag is {given.tag}, and relay/__init__.py says {version()}")
    with tempfile.TemporaryDirectory() as folder:
        source, wheel = build(given.dist, Path(folder))
        try_out(wheel, Path(folder))
    print(f"{source.name}: {source.stat().st_size:,} bytes", file=sys.stderr)
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
