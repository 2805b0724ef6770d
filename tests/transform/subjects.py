"""What passes are tried on: random programs, random networks, the model zoo in small.

A subject is a typed module with arguments for `main`, and what the interpreter makes of them: the
result, and all that was written to references, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import relay
from relay.check.infer import infer_module
from relay.frontend.python import values
from relay.frontend.python.standard import Rose
from relay.interpreter.values import RefValue, Value
from relay.ir.parameters import bind_params_by_name
from relay.testing import (
    Seeded,
    dcgan,
    densenet,
    dqn,
    gru,
    inception_v3,
    lstm,
    lstm_loop,
    mlp,
    mobilenet,
    random_inputs,
    random_module,
    resnet,
    rnn,
    squeezenet,
    transformer,
    tree_lstm,
    vgg,
)
from relay.testing.init import create_workload
from relay.transform import ToANormalForm
from tests.models.in_pytorch import scrambled
from tests.support.random_networks import random_network


@dataclass(frozen=True)
class Subject:
    module: relay.IRModule
    inputs: tuple[Any, ...]
    result: Value
    written: tuple[Value, ...]


def subject(module: relay.IRModule, inputs: Any) -> Subject:
    module = infer_module(module)
    return Subject(module, tuple(inputs), *run(module, inputs))


def run(module: relay.IRModule, inputs: Any) -> tuple[Value, tuple[Value, ...]]:
    """The result, and what was written to references on the way."""
    with writes() as written:
        result = relay.create_executor("debug", module).evaluate()(*inputs)
    return result, tuple(written)


@contextmanager
def writes() -> Iterator[list[Value]]:
    found: list[Value] = []

    def note(cell: RefValue, name: str, value: Value) -> None:
        if hasattr(cell, "value"):  # not when it is created
            found.append(value)
        object.__setattr__(cell, name, value)

    with mock.patch.object(RefValue, "__setattr__", note):
        yield found


# --- random ------------------------------------------------------------------------------------

# The kinds of programs, by what they may contain.
KINDS: dict[str, dict[str, Any]] = {
    "everything": {},
    "pure": {"references": False},
    "first order": {"closures": False, "polymorphism": False},
    "static": {"named_dims": False, "unknown_dims": False},
}


@cache
def program(kind: str, seed: int) -> Subject:
    module = random_module(Seeded(seed), size=50, **KINDS[kind])
    return subject(module, random_inputs(module, Seeded(seed)))


@cache
def network(seed: int) -> Subject:
    """Every second with branches, every third as lets."""
    module = random_network(Seeded(seed), 8 + seed % 7, branches=seed % 2 == 1)
    inputs = random_inputs(module, Seeded(seed))
    return subject(ToANormalForm()(module) if seed % 3 == 2 else module, inputs)


# --- the zoo -----------------------------------------------------------------------------------

Workload = tuple[relay.IRModule, dict[str, relay.nd.NDArray]]
WIDE = "float64"


def _inception() -> Workload:
    x = relay.var("data", shape=(1, 8, 7, 7), dtype=WIDE)
    x = relay.nn.batch_flatten(inception_v3.block_e(inception_v3.block_d(x, "d"), "avg", "e"))
    return create_workload(relay.Function(relay.analysis.free_vars(x), x))


def _shallow(table: dict[Any, Any], key: Any, value: Any, make: Callable[[], Workload]) -> Workload:
    """A network of fewer layers than there are in its file."""
    with mock.patch.dict(table, {key: value}):
        return make()


FIRES = ((16, 3), (((8, 16),), ((8, 24),)))

ZOO: dict[str, Callable[[], Workload]] = {
    "mlp": lambda: mlp.get_workload(2, image_shape=(1, 6, 6), dtype=WIDE),
    "dqn": lambda: dqn.get_workload(1, image_shape=(4, 36, 36), dtype=WIDE),
    "dcgan": lambda: dcgan.get_workload(1, ngf=2, random_len=10, dtype=WIDE),
    "resnet": lambda: _shallow(
        resnet.UNITS,
        8,
        (2, 1),
        lambda: resnet.get_workload(
            num_layers=8, image_shape=(3, 36, 36), num_classes=4, dtype=WIDE
        ),
    ),
    "bottle necks": lambda: _shallow(
        resnet.UNITS,
        60,
        (1, 1),
        lambda: resnet.get_workload(
            num_layers=60, image_shape=(3, 16, 16), num_classes=4, dtype=WIDE
        ),
    ),
    "mobilenet": lambda: create_workload(
        mobilenet.get_net(1, 4, (3, 32, 32), WIDE, alpha=0.25, is_shallow=True)
    ),
    "vgg": lambda: vgg.get_workload(
        1, image_shape=(3, 32, 32), batch_norm=True, num_classes=4, dtype=WIDE
    ),
    "squeezenet": lambda: _shallow(
        squeezenet.VERSIONS,
        "short",
        FIRES,
        lambda: squeezenet.get_workload(
            version="short", image_shape=(3, 32, 32), num_classes=4, dtype=WIDE
        ),
    ),
    "densenet": lambda: _shallow(
        densenet.SIZES,
        13,
        (8, 4, (1, 2, 1, 1)),
        lambda: densenet.get_workload(
            13, batch_size=1, image_shape=(3, 40, 40), classes=4, dtype=WIDE
        ),
    ),
    "inception": _inception,
    "lstm": lambda: lstm.get_workload(iterations=3, num_hidden=4, batch_size=2, dtype=WIDE),
    "encoder": lambda: transformer.get_workload(2, 2, 8, 2, 5, 11, dtype=WIDE),
    "decoder": lambda: transformer.get_workload(1, 2, 8, 2, 5, 11, causal=True, dtype=WIDE),
    "rnn": lambda: rnn.get_workload(3, 4, dtype=WIDE),
    "gru over a list": lambda: gru.get_workload(3, 4, dtype=WIDE, net=gru.over_list),
    "lstm in a loop": lambda: lstm_loop.get_workload(3, 4, dtype=WIDE),
    "tree lstm": lambda: tree_lstm.get_workload(3, 4, dtype=WIDE),
}


@cache
def model(name: str) -> Subject:
    """A network of the zoo, with its weights as constants."""
    module, params = ZOO[name]()
    random = np.random.default_rng(0)
    inputs = []
    main = module["main"]
    for param in main.params:
        if param.name_hint not in params:
            inputs.append(_input(param.name_hint, name, param.checked_type, random))
    module["main"] = bind_params_by_name(main, scrambled(params))
    return subject(module, inputs)


def _input(what: str, name: str, ty: Any, random: np.random.Generator) -> Any:
    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape)

    if name == "tree lstm":
        leaves = [Rose(normal(1, 3), []) for _ in range(2)]
        return values.from_python(Rose(normal(1, 3), [Rose(normal(1, 3), leaves), leaves[0]]), ty)
    if what == "data" and name.endswith("over a list"):
        return values.from_python(list(normal(3, 1, 3)), ty)
    shape = [extent if isinstance(extent, int) else 3 for extent in ty.shape]
    if ty.dtype != WIDE:
        return random.integers(0, 11, shape).astype(ty.dtype)
    if what == "mask":
        return (random.uniform(size=shape) < 0.7).astype(ty.dtype)
    return normal(*shape)
