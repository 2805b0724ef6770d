"""A process that reads changed files of TFLite, TensorFlow, MXNet, Keras and PyTorch, and may do
nothing else: little memory, no files written, nothing started. It prints how each went, as JSON.

    python -m tests.frontend.hostile_run tflite|graph|symbol|keras|pt2|script FIRST LAST

The number of a file is printed before it is read, to standard error, so that one that ends the
process is known.
"""

from __future__ import annotations

import io
import json
import re
import resource
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import relay
from tests.support.hostile_files import (
    NUMBERS,
    changed_bytes,
    changed_json,
    changed_words,
    forbid,
    outcome,
)

MEMORY = 3 << 30  # bytes of its own


def zipped(entries: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive."""
    made = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(made, "w", compression) as file:
            for name, data in entries.items():
                file.writestr(name, data)
    return made.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


# --- TFLite --------------------------------------------------------------------------------------


def tflite_files() -> list[bytes]:
    from tests.frontend.tflite.cases import all_cases
    from tests.frontend.tflite.models import build
    from tests.frontend.tflite.test_control import branches, counter, loop

    made: dict[str, bytes] = {}
    for case in all_cases():
        made.setdefault(case.operator, build(case))
    return [*made.values(), branches(), loop(), counter()]


def tflite_change(random: Random, data: bytes) -> bytes:
    return (changed_words if random.random() < 0.7 else changed_bytes)(random, data)


# --- TensorFlow ----------------------------------------------------------------------------------


# programs that need their results named: some nodes that nothing reads are no results
UNREAD = {"unstack", "map_fn", "scan"} | {
    f"{one} of version 1" for one in ("cond", "nested", "loop in a branch")
}


def graph_files() -> list[bytes]:
    from tests.frontend.tensorflow.models import PROGRAMS, RECORDED, load

    found = (one for path in (RECORDED, PROGRAMS) for one in load(path))
    return sorted({one.graph for one in found if one.name not in UNREAD})


def graph_change(random: Random, data: bytes) -> bytes:
    if random.random() < 0.3:
        return changed_bytes(random, data)
    changed = bytearray(data)  # of the same length, so that most messages end where they did
    for _ in range(random.choice([1, 1, 1, 2])):
        place = random.randrange(len(changed))
        changed[place] = random.choice(
            [0, 1, 2, 127, 255, changed[place] ^ 1, changed[place] + 1 & 255]
        )
    return bytes(changed)


# --- MXNet ---------------------------------------------------------------------------------------


def symbol_files() -> list[bytes]:
    """Symbols that say the shapes of their inputs, one for each operator."""
    from tests.frontend.mxnet.models import cases

    made: dict[str, bytes] = {}
    for case in cases():
        graph = json.loads(case.symbol)
        for node in graph["nodes"]:
            if node["name"] in case.inputs:
                node["attrs"] = {"__shape__": str(case.inputs[node["name"]].shape)}
        made.setdefault(case.name.split("#")[0], json.dumps(graph).encode())
    return [*made.values()]


def symbol_change(random: Random, data: bytes) -> bytes:
    if random.random() < 0.3:
        return changed_bytes(random, data)
    return json.dumps(changed_json(random, json.loads(data))).encode()


# --- Keras ---------------------------------------------------------------------------------------


def keras_files() -> list[bytes]:
    """Archives of models of a layer each. What is in their HDF5 files is known beforehand, since
    reading it takes a process of its own (`tests/frontend/keras/test_hostile.py` changes those)."""
    from relay.frontend.keras import hdf5
    from tests.frontend.keras.cases import layer_cases
    from tests.frontend.keras.models import build

    chosen = {case.kind: case for case in layer_cases()}
    made, stored = [], {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        for kind in sorted(chosen)[::8]:
            build(chosen[kind]).save(path)
            made.append(path.read_bytes())
            weights = unzipped(made[-1])["model.weights.h5"]
            stored[weights] = hdf5.read(weights)

    def read(data: bytes) -> hdf5.File:
        if data not in stored:
            raise hdf5.refused("it is another one")
        return stored[data]

    hdf5.read = read  # of this process only
    return made


def keras_change(random: Random, data: bytes) -> bytes:
    if random.random() < 0.1:
        return changed_bytes(random, data)
    entries = unzipped(data)
    config = json.loads(entries["config.json"])
    entries["config.json"] = json.dumps(changed_json(random, config)).encode()
    return zipped(entries)


# --- PyTorch -------------------------------------------------------------------------------------


def pt2_files() -> list[bytes]:
    import torch
    from torch.export import Dim

    from tests.frontend.pytorch.pt2.test_pt2 import Model

    class Second(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)
            self.conv = torch.nn.Conv1d(4, 3, 3, padding=1)

        def forward(self, x: dict[str, torch.Tensor], n: int) -> list[torch.Tensor]:
            y = self.table(x["ids"])
            z = torch.max_pool1d(self.conv(y.transpose(1, 2)), 2)
            return [z.flatten(1), torch.cat([y, y], 1)[:, 1::2], y.sum((1, 2), keepdim=True) * n]

    made = []
    rows = {0: Dim("rows", min=2, max=100)}
    for model, inputs, shapes in (
        (Model(), (torch.randn(3, 4),), (rows,)),
        (Second(), ({"ids": torch.zeros(3, 6, dtype=torch.int64)}, 3), None),
    ):
        program = torch.export.export(model.eval(), inputs, dynamic_shapes=shapes)
        file = io.BytesIO()
        torch.export.save(program, file)
        made.append(file.getvalue())
    return made


def pt2_change(random: Random, data: bytes) -> bytes:
    if random.random() < 0.2:
        return changed_bytes(random, data)
    entries = unzipped(data)
    texts = [name for name in entries if name.endswith(".json")]
    weights = {"model": 4, "weights_config": 2}
    counts = [next((n for part, n in weights.items() if part in name), 1) for name in texts]
    (name,) = random.choices(texts, counts)
    entries[name] = json.dumps(changed_json(random, json.loads(entries[name]))).encode()
    return zipped(entries)


def script_files() -> list[bytes]:
    import torch

    from tests.frontend.pytorch.script.test_archive import Doubled

    class Second(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 3)
            self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.ReLU()])
            self.scale = 3

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
            y = self.table(x.argmax(1))
            for layer in self.layers:
                y = layer(y)
            found = [1]
            while bool(y.sum() > 1.0) and len(found) < 4:
                y = y / 2
                found.append(self.scale)
            return y.reshape(-1, 3) if x.shape[0] > 1 else y, found

    made = []
    for model in (Doubled(), Second()):
        file = io.BytesIO()
        torch.jit.save(torch.jit.script(model.eval()), file)
        made.append(file.getvalue())
    return made


def script_change(random: Random, data: bytes) -> bytes:
    if random.random() < 0.2:
        return changed_bytes(random, data)
    entries = unzipped(data)
    wanted = random.choice([".py", ".py", ".pkl", ".pkl", ""])
    name = random.choice([name for name in entries if name.endswith(wanted)])
    if wanted == ".py":
        entries[name] = changed_code(random, entries[name])
    elif wanted == ".pkl":
        entries[name] = changed_bytes(random, entries[name])
    elif random.random() < 0.5:
        del entries[name]
    else:
        entries[name] = entries[random.choice(list(entries))]
    return zipped(entries)


def changed_code(random: Random, code: bytes) -> bytes:
    """Words and numbers are others, lines are gone or stand elsewhere."""
    text = code.decode()
    match random.randrange(4):
        case 0:
            lines = text.splitlines(keepends=True)
            del lines[random.randrange(len(lines))]
            return "".join(lines).encode()
        case 1:
            lines = text.splitlines(keepends=True)
            lines.insert(random.randrange(len(lines)), random.choice(lines))
            return "".join(lines).encode()
    kind = r"\d+" if random.random() < 0.5 else r"\w+"
    places = list(re.finditer(kind, text))
    place = random.choice(places)
    other = str(random.choice(NUMBERS)) if kind == r"\d+" else random.choice(places)[0]
    return f"{text[: place.start()]}{other}{text[place.end() :]}".encode()


# --- running -------------------------------------------------------------------------------------

KINDS: dict[str, tuple[str, Callable[[], list[bytes]], Callable[[Random, bytes], bytes]]] = {
    "tflite": (".tflite", tflite_files, tflite_change),
    "graph": (".pb", graph_files, graph_change),
    "symbol": (".json", symbol_files, symbol_change),
    "keras": (".keras", keras_files, keras_change),
    "pt2": (".pt2", pt2_files, pt2_change),
    "script": (".pt", script_files, script_change),
}


def changed(kind: str, made: list[bytes], number: int) -> bytes:
    """A file of its own for every number."""
    random = Random(f"{kind} {number}")
    return KINDS[kind][2](random, random.choice(made))


def read(path: Path) -> None:
    """Import a model as `relay.compile` does, and look at all of it."""
    from relay.frontend.model import Example, as_module

    mod, _ = as_module(path, Example(None, input_infos=[("x", (2, 3))]))
    str(relay.transform.InferType()(mod))


def main() -> None:
    kind, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    end, files, _ = KINDS[kind]
    made = files()
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{end}"
        with path.open("wb", buffering=0) as file:

            def tried(data: bytes) -> str:
                file.seek(0)
                file.truncate()
                file.write(data)
                return outcome(lambda: read(path))

            tried(b"")  # whatever is loaded on first use is loaded
            whole = [tried(data) for data in made]
            found["whole"] = "fine" if set(whole) == {"fine"} else ", ".join(whole)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            is_cage = [True]
            sys.addaudithook(lambda event, args: forbid(event, args) if is_cage else None)
            for number in range(first, last):
                print(number, end=" ", file=sys.stderr, flush=True)
                found[str(number)] = tried(changed(kind, made, number))
            is_cage.clear()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
