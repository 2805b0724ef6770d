"""A process that imports hostile models and may do nothing else: little memory, no files written,
nothing started. It prints how each went, as JSON.

    python -m tests.frontend.onnx.hostile_run corpus
    python -m tests.frontend.onnx.hostile_run changed SEED COUNT
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import onnx

from relay.errors import RelayError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import (
    EITHER,
    REFUSED,
    call,
    chain,
    function,
    nested,
    node,
    sizes,
    sparse,
    with_functions,
)

MEMORY = 3 << 30  # bytes of address space, of which NumPy and ONNX themselves take a part
SECONDS = 20  # for a single model

_FORBIDDEN = (
    "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "subprocess.Popen",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "shutil.rmtree", "socket.connect", "socket.bind", "ctypes.dlopen",
)  # fmt: skip


def forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: what is forbidden ends the process."""
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event in _FORBIDDEN:
        print(f"forbidden: {event} {arguments}", file=sys.stderr)
        sys.stderr.flush()
        import os

        os._exit(3)


def outcome(model: onnx.ModelProto | bytes) -> str:
    start = time.process_time()
    try:
        mod, _ = from_onnx(model)
        str(mod)
        found = "fine"
    except RelayError as error:
        found = "refused" if len(str(error)) < 4000 else "refused at length"
    except Exception as error:
        found = f"{type(error).__name__}: {error}"[:500]
    took = time.process_time() - start
    return found if took < SECONDS else f"{found}, after {took:.0f} s"


def corpus() -> Iterator[tuple[str, onnx.ModelProto | bytes]]:
    for name, builder in {**REFUSED, **EITHER}.items():
        yield name, builder()


def changed(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Files with bytes that are others, gone, or there several times."""
    random = Random(seed)
    models = [
        chain(node("Relu", "x")),
        chain(node("Reshape", "x", "sizes"), constants=[sizes(3, 2)]),
        with_functions(function("f", [call("g", to="m"), node("Relu", "m")]),
                       function("g", [node("Neg", "x")])),
        sparse([4, 4], [[0, 1]]),
        nested(3),
    ]  # fmt: skip
    files = [model.SerializeToString() for model in models]
    for number in range(count):
        data = bytearray(random.choice(files))
        for _ in range(random.choice([1, 1, 2, 5, 20])):
            place = random.randrange(len(data))
            match random.randrange(6):
                case 0:
                    data[place] = random.randrange(256)
                case 1:
                    data[place] ^= 1 << random.randrange(8)
                case 2:
                    del data[place : place + random.randint(1, 8)]
                case 3:
                    data[place:place] = data[place : place + random.randint(1, 40)]
                case 4:
                    data[place:place] = b"\xff" * random.randint(1, 10)
                case 5 if random.random() < 0.2:
                    del data[place:]
            if not data:
                break
        yield f"{number}", bytes(data)


def main() -> None:
    from_onnx(chain(node("Relu", "x")))  # whatever is loaded on first use is loaded
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    given = corpus() if sys.argv[1] == "corpus" else changed(int(sys.argv[2]), int(sys.argv[3]))
    sys.addaudithook(forbid)
    print(json.dumps({name: outcome(model) for name, model in given}))


if __name__ == "__main__":
    main()
