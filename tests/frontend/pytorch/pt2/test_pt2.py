"""`.pt2` files: what torch writes is read, and hostile files are refused before torch sees them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import relay
from relay.errors import FrontendError
from relay.executors import create_executor


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 6)
        self.register_buffer("scale", torch.rand(6))
        self.shift = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) * self.scale + self.shift + x.shape[0] * 2


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[torch.nn.Module, Path]:
    model, path = Model().eval(), tmp_path_factory.mktemp("pt2") / "model.pt2"
    rows = {0: Dim("rows", min=2, max=100)}
    program = torch.export.export(model, (torch.randn(3, 4),), dynamic_shapes=(rows,))
    torch.export.save(program, path)
    return model, path


def test_a_file_agrees_with_the_model_it_comes_from(saved: tuple[torch.nn.Module, Path]) -> None:
    model, path = saved
    for given in (path, str(path)):
        mod, params = relay.frontend.from_pytorch(given)
        assert set(params) >= set(model.state_dict())
        run = create_executor("debug", mod, params=params).evaluate()
        for rows in (2, 9):
            x = torch.randn(rows, 4)
            found = torch.from_numpy(run(x).numpy())
            torch.testing.assert_close(found, model(x).detach())


# --- hostile files


def changed(
    path: Path,
    change: Callable[[dict[str, bytes]], None],
    compression: int = zipfile.ZIP_STORED,
) -> Path:
    """A copy of a file with other entries."""
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    change(entries)
    copy = path.with_name("changed.pt2")
    with zipfile.ZipFile(copy, "w", compression) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return copy


def entry_of(entries: dict[str, bytes], end: str) -> str:
    return next(name for name in entries if name.endswith(end))


def in_json(end: str, change: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    def changing(entries: dict[str, bytes]) -> None:
        name = entry_of(entries, end)
        document = json.loads(entries[name])
        change(document)
        entries[name] = json.dumps(document).encode()

    return changing


def replaced(old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    """Everywhere in the program, one text is another one."""

    def changing(entries: dict[str, bytes]) -> None:
        name = entry_of(entries, "models/model.json")
        text = entries[name].decode()
        assert old in text
        entries[name] = text.replace(old, new).encode()

    return changing


def of_weight(**fields: Any) -> Callable[[dict[str, bytes]], None]:
    return in_json(
        "weights_config.json", lambda table: table["config"]["linear.weight"].update(fields)
    )


def of_type(**fields: Any) -> Callable[[dict[str, bytes]], None]:
    return in_json(
        "weights_config.json",
        lambda table: table["config"]["linear.weight"]["tensor_meta"].update(fields),
    )


def ints(*sizes: int) -> list[dict[str, int]]:
    return [{"as_int": one} for one in sizes]


def in_graph(change: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    return in_json("models/model.json", lambda document: change(document["graph_module"]))


SIZE = "Symbol('s77', positive=True, integer=True)"


def size(text: str) -> Callable[[dict[str, bytes]], None]:
    return replaced(SIZE, text)


HOSTILE: list[tuple[str, Callable[[dict[str, bytes]], None]]] = [
    ("is a pickle", of_weight(use_pickle=True)),
    ("outside of the archive", of_weight(path_name="../../../etc/passwd")),
    ("outside of the archive", of_weight(path_name="/etc/passwd")),
    ("no entry", of_weight(path_name="weight_99")),
    ("goes beyond its data", of_type(sizes=ints(6, 400))),
    ("goes beyond its data", of_type(sizes=ints(2**40, 2**40), strides=ints(0, 0))),
    ("goes beyond its data", of_type(strides=ints(1000, 1))),
    ("goes beyond its data", of_type(storage_offset={"as_int": 10**9})),
    ("no numbers", of_type(sizes=ints(-6, 4))),
    ("no numbers", of_type(strides=ints(-4, 1))),
    ("no numbers", of_type(sizes=[{"as_expr": {"expr_str": "s0"}}, {"as_int": 4}])),
    ("element type", of_type(dtype=999)),
    ("declares `linear.weight` otherwise", of_type(sizes=ints(4, 6), strides=ints(6, 1))),
    ("no expression", size("__import__('os').system('true')")),
    ("no expression", size("().__class__.__base__.__subclasses__()")),
    ("no expression", size("Symbol('s77', positive=exit())")),
    ("no expression", size("Symbol('x y')")),
    ("no expression", size("Pow(Pow(Integer(999999), Integer(4)), Integer(4))")),
    ("no expression", size("Pow(Integer(9), Integer(999999999))")),
    ("no expression", size("Integer(" + "9" * 100000 + ")")),
    ("no expression", size("Add(" * 5000 + "Integer(1)" + ")" * 5000)),
    ("no expression", size("Add(s77, s77) or exit()")),
    ("no expression", size("lambda: 1")),
    ("no operator", replaced("torch.ops.aten.relu.default", "torch.hub.load")),
    ("no operator", replaced("torch.ops.aten.relu.default", "_operator.attrgetter")),
    ("no operator", replaced("torch.ops.aten.relu.default", "torch.ops.load_library")),
    ("no operator", replaced("torch.ops.aten.relu.default", "torch._C._jit_set_profiling_mode")),
    ("cannot be translated", replaced("torch.ops.aten.relu.default", "torch.ops.aten.from_file")),
    ("cannot be translated", replaced("torch.ops.aten.relu.default", "torch.ops.aten.save")),
    ("cannot be translated", replaced("torch.ops.aten.relu.default", "torch.ops.prim.Print")),
    ("no identifier", replaced('"x"', '"x): import os; os.abort() #"')),
    ("no identifier", replaced('"x"', '"__class__"')),
    ("another device", replaced('"type": "cpu"', '"type": "cuda"')),
    ("other containers", replaced("builtins.dict", "os.system")),
    (
        "only a pickle",
        replaced('"as_tensor": {"name": "relu"}', '"as_custom_obj": {"name": "relu"}'),
    ),
    ("not one program", lambda entries: entries.update({"model/models/b.json": b"{}"})),
    ("no graph", in_json("models/model.json", dict.clear)),
    ("no JSON", lambda entries: entries.update({"model/models/model.json": b"[" * 10**6})),
    ("torch cannot read", in_graph(lambda graph: graph["graph"]["nodes"].pop(0))),
]


def test_hostile_files_are_refused(saved: tuple[torch.nn.Module, Path]) -> None:
    for expected, change in HOSTILE:
        path = changed(saved[1], change)
        with pytest.raises(FrontendError, match=expected):
            relay.frontend.from_pytorch(path)


def test_compressed_entries_and_other_files_are_refused(
    saved: tuple[torch.nn.Module, Path], tmp_path: Path
) -> None:
    bomb = changed(
        saved[1], lambda entries: entries.update(bomb=bytes(10**7)), zipfile.ZIP_DEFLATED
    )
    with pytest.raises(FrontendError, match="is compressed"):
        relay.frontend.from_pytorch(bomb)
    other = tmp_path / "other.pt2"
    other.write_bytes(b"no archive")
    with pytest.raises(FrontendError, match="no archive"):
        relay.frontend.from_pytorch(other)
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("serialized_exported_program.json", "{}")
    with pytest.raises(FrontendError, match="weights are pickles"):
        relay.frontend.from_pytorch(other)


def test_sample_inputs_are_never_read(saved: tuple[torch.nn.Module, Path]) -> None:
    def change(entries: dict[str, bytes]) -> None:
        entries[entry_of(entries, "sample_inputs/model.pt")] = b"cos\nabort\n(tR."

    relay.frontend.from_pytorch(changed(saved[1], change))


def test_guards_are_never_run(saved: tuple[torch.nn.Module, Path]) -> None:
    def change(document: Any) -> None:
        document["guards_code"] = ["__import__('os').abort()"]

    relay.frontend.from_pytorch(changed(saved[1], in_json("models/model.json", change)))
