"""Digests of compiled networks and programs, to show that a refactoring changed nothing.

    python tools/program_digests.py before.txt        write one line per program
    … change the compiler …
    python tools/program_digests.py after.txt && diff before.txt after.txt

A digest covers the text of the program (`relay.program.text`) and the LLVM IR of its kernels for
one level of x86-64, and the name, type and bytes of the constants that the compiler creates. The
programs are the networks of `benchmarks/zoo.py`, the dynamic networks of `relay.testing` and
`tests/programs`. The run starts with an empty cache.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import relay
from benchmarks.zoo import NETWORKS
from relay.cache import Cache
from relay.driver import compile_program
from relay.errors import RelayError
from relay.testing import (
    attention_decoder,
    beam_search,
    char_rnn,
    gru,
    lstm_loop,
    rnn,
    transformer,
    tree_lstm,
)

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted((ROOT / "tests" / "programs").glob("*.relay"))
DYNAMIC = (attention_decoder, beam_search, char_rnn, gru, lstm_loop, rnn, tree_lstm, transformer)

Made = tuple[relay.IRModule, dict[str, Any]]


def subjects() -> Iterator[tuple[str, Callable[[], Made]]]:
    yield from NETWORKS.items()
    for home in DYNAMIC:
        yield home.__name__.rpartition(".")[2], home.get_workload
    for path in PROGRAMS:
        yield path.name, lambda path=path: (relay.parse(path.read_text(), path.name), {})


def digest(made: Made, target: str, cache: Cache) -> str:
    """The digest of a program, or the error if it does not compile."""
    module, params = made
    try:
        compiled = compile_program(module, params, target=target, cache=cache)
    except RelayError as error:
        return f"refused: {str(error).splitlines()[0]}"
    found = hashlib.blake2b(digest_size=16)
    # source spans hold absolute paths
    found.update(str(compiled.program).replace(str(ROOT), "").encode())
    for kernel in compiled.program.kernels:
        found.update(kernel.ir.encode())
    for name in sorted(compiled.weights.keys() - params.keys()):
        array = compiled.weights[name]
        found.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("file", type=Path, help="where the digests go")
    parser.add_argument("--level", default="avx2", help="of x86-64: baseline, avx2 or avx512")
    options = parser.parse_args()
    target = f"llvm -level={options.level}"
    with tempfile.TemporaryDirectory() as folder, options.file.open("w") as out:
        for name, make in subjects():
            print(f"{name:<40} {digest(make(), target, Cache(folder))}", file=out, flush=True)


if __name__ == "__main__":
    main()
