"""Calls by the convention of a model: nested data, names, complex numbers, numbers, constants."""

import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import relay
from relay.driver import compile_program
from relay.errors import EvaluationError, RelayError
from relay.executors.artifact import load
from relay.executors.convention import Argument, Convention
from relay.executors.make import make_executable
from relay.executors.structure import Node, Record, Structure, type_name

TENSOR = Node("tensor")
X = np.arange(6, dtype="float32").reshape(2, 3)


@dataclass
class Pair:
    first: Any
    second: Any = None


Named = namedtuple("Named", ["a", "b"])


def structure(*nodes):
    return Structure(tuple(Node(node) if isinstance(node, str) else node for node in nodes))


def keyed(kind, *keys, **rest):
    return Node(kind, keys, **rest)


# forward(ids, more, mask=None, *, cache)
CONVENTION = Convention(
    (
        Argument("ids", structure("tensor"), 0),
        Argument("more", structure(keyed("list", 0, 1), "tensor", keyed("tuple", 0), "tensor"), 1),
        Argument("cache", structure(keyed("dict", "k", 7), "tensor", Node("fixed", value=2))),
        Argument("mask", structure("fixed"), 2, True, (None,)),
    ),
    structure(
        keyed("dict", "sum", "pair", "none"),
        "tensor",
        Node("record", ("first", "second"), type_name(Pair)),
        "tensor",
        keyed("tuple", 0),
        "float",
        "fixed",
    ),
)
FOUR = """
#[version = "0.0.5"]
def @main%s(%%a: Tensor[(%s, 3), float32], %%b: Tensor[(%s, 3), float32],
          %%c: Tensor[(%s, 3), float32], %%d: Tensor[(%s, 3), float32]) {
  (add(add(%%a, %%b), add(%%c, %%d)), subtract(%%a, %%d), sum(%%b))
}
"""


def with_convention(text, convention):
    module = relay.parse(text)
    module["main"] = module["main"].with_attr("Convention", convention.to_text())
    return module


@pytest.fixture(scope="module", params=["straight", "dynamic"])
def exe(request):
    parts = ("[k: Shape]", *"kkkk") if request.param == "dynamic" else ("", *"2222")
    return relay.compile(with_convention(FOUR % parts, CONVENTION))


def check(result, make=np.asarray):
    np.testing.assert_array_equal(make(result["sum"]), 1111 * X)
    assert type(result["pair"]) is Pair
    np.testing.assert_array_equal(make(result["pair"].first), -999 * X)
    (number,) = result["pair"].second
    assert type(number) is float
    assert number == 150
    assert result["none"] is None


def test_arguments_come_by_place_and_by_name_nested_as_they_were(exe):
    more, cache = [10 * X, (100 * X,)], {"k": 1000 * X, 7: 2}
    check(exe(X, more, cache=cache))
    check(exe(X, more, None, cache=cache))
    check(exe(cache=cache, more=tuple(more), ids=X, mask=None))
    given = torch.from_numpy
    result = exe(given(X), [given(10 * X), [given(100 * X)]], cache={7: 2, "k": given(1000 * X)})
    check(result, lambda tensor: tensor.numpy())
    assert isinstance(result["sum"], torch.Tensor)
    if "k" not in str(exe.inputs[0]):
        exe.benchmark(repeat=1, number=1)
        exe.profile(repeat=1)
    assert len(exe.evaluate(X, more, cache=cache).fields) == 3


def test_other_arguments_are_refused_with_their_place(exe):
    more, cache = [X, (X,)], {"k": X, 7: 2}
    wrong = {
        r"no value for argument `cache`": ((X, more), {}),
        r"no value for argument `ids`": ((), {"more": more, "cache": cache}),
        r"too many arguments": ((X, more, None, cache), {}),
        r"there is no argument `idds`": ((X, more), {"idds": X}),
        r"argument `ids` is given twice": ((X, more), {"ids": X, "cache": cache}),
        r"`mask` is something else": ((X, more, X), {"cache": cache}),
        r"`more` is something else": ((X, [X]), {"cache": cache}),
        r"`more\[1\]` is something else": ((X, [X, X]), {"cache": cache}),
        r"`cache\[7\]` is something else": ((X, more), {"cache": {"k": X, 7: 3}}),
        r"`cache` is something else": ((X, more), {"cache": {"k": X}}),
        r"`ids` is something else": ((None, more), {"cache": cache}),
    }
    for message, (args, named) in wrong.items():
        with pytest.raises(EvaluationError, match=message):
            exe(*args, **named)


def test_files_keep_the_convention_and_need_no_class(exe, tmp_path, monkeypatch):
    exe.save(tmp_path / "model.relayx")
    loaded = load(tmp_path / "model.relayx")
    assert loaded.convention == exe.convention == pickle.loads(pickle.dumps(exe)).convention
    args = X, [10 * X, (100 * X,)]
    cache = {"k": 1000 * X, 7: 2}
    check(loaded(*args, cache=cache))
    monkeypatch.delitem(globals(), "Pair")
    pair = loaded(*args, cache=cache)["pair"]
    assert type(pair) is Record
    np.testing.assert_array_equal(pair.first, pair["first"])
    with pytest.raises(AttributeError):
        _ = pair.third


def test_a_convention_of_plain_tensors_costs_nothing():
    one = structure("tensor")
    plain = Convention(
        (
            Argument("x", one, 0),
            Argument("y", one, 1),
            Argument("flag", structure(Node("fixed", value=True)), 2, True, (True,)),
        ),
        structure(keyed("tuple", 0, 1), "tensor", "tensor"),
    )
    assert plain.plain_arguments == 2
    assert plain.is_plain_result
    assert CONVENTION.plain_arguments is None
    other = Convention(
        (Argument("flag", structure(Node("fixed", value=True)), 0, True, (False,)),), one
    )
    assert other.plain_arguments is None  # it must be given
    with pytest.raises(EvaluationError, match="True, as when it was compiled"):
        other.take_apart((), {})
    assert other.take_apart((True,), {}) == []


def test_structures_take_apart_what_they_put_together():
    leaf = "tensor"
    cases = [
        (structure(leaf), 1),
        (structure(keyed("list", 0, 1), leaf, leaf), [1, 2]),
        (structure(keyed("ordered", "b", "a"), leaf, leaf), OrderedDict(b=1, a=2)),
        (
            structure(Node("record", ("a", "b"), type_name(Named)), leaf, keyed("tuple")),
            Named(1, ()),
        ),
        (structure(Node("record", ("first",), type_name(Pair)), leaf), Pair(1)),
    ]
    for one, data in cases:
        assert Structure.of_json(one.to_json()) == one
        made = one.put_together(one.take_apart(data, "data"))
        assert made == data
        assert type(made) is type(data)
    with pytest.raises(EvaluationError):  # it was None
        cases[-1][0].take_apart(Pair(1, 2), "data")


def test_deep_structures_are_no_problem():
    depth = 10_000
    deep = Structure((Node("list", (0,)),) * depth + (TENSOR,))
    data = 5
    for _ in range(depth):
        data = [data]
    assert deep.take_apart(data, "") == [5]
    made = Structure.of_json(deep.to_json()).put_together([7])
    for _ in range(depth):
        (made,) = made
    assert made == 7


def test_a_class_is_used_only_if_it_is_a_record():
    for name in ("subprocess:Popen", "os:system", "builtins:dict", "nowhere:A"):
        one = structure(Node("record", ("args",), name), "tensor")
        assert type(one.put_together(["x"])) is Record


def test_damaged_conventions_are_refused():
    good = CONVENTION.to_json()
    assert Convention.of_json(good) == CONVENTION
    for bad in (
        None,
        {},
        {**good, "result": []},
        {**good, "result": ["tensor", "tensor"]},
        {**good, "result": [["list", [0, 1], "", None], "tensor"]},
        {**good, "result": ["anything"]},
        {**good, "arguments": [["x", ["tensor"], 1, True, None]]},
        {**good, "arguments": [["x", ["tensor"], 0, True]]},
    ):
        with pytest.raises(RelayError):
            Convention.of_json(bad)
    with pytest.raises(RelayError, match="4 arguments and 3 results"):
        relay.compile(
            with_convention(
                '#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }', CONVENTION
            )
        )


DOUBLE = """
#[version = "0.0.5"]
def @main%s(%%x: Tensor[(%s, 2), %s]) { add(%%x, %%x) }
"""


def test_complex_numbers_are_pairs_inside():
    for kind, inside, shape in (
        ("complex64", "float32", ("", "3")),
        ("complex128", "float64", ("[k: Shape]", "k")),
    ):
        convention = Convention((Argument("x", structure(kind), 0),), structure(kind))
        exe = relay.compile(with_convention(DOUBLE % (*shape, inside), convention))
        x = (np.arange(3) + 2j).astype(kind)
        found = exe(x)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, 2 * x)
        y = torch.from_numpy(x)
        for given in (y, y.conj(), torch.stack([y, y])[0], y.requires_grad_()):
            result = exe(given)
            assert result.dtype == given.dtype
            assert torch.equal(result, 2 * given.detach())
        np.testing.assert_array_equal(exe(np.stack([x, x], 1)[:, 0]), 2 * x)
        for wrong in (x.real, torch.zeros(3), None):
            with pytest.raises(EvaluationError, match=f"tensor of {kind}"):
                exe(wrong)
        if not shape[0]:
            exe.benchmark(repeat=1, number=1)


def test_layouts_and_element_types_of_torch_come_in():
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(1, 2, 3, 4), bfloat16]) { negative(%x) }'
    exe = relay.compile(relay.parse(text))
    x = torch.randn(1, 2, 3, 4).bfloat16()
    for given in (x, x.to(memory_format=torch.channels_last), x.transpose(2, 3).contiguous().mT):
        assert torch.equal(exe(given), -given)
    found = exe(x.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    assert found.dtype == ml_dtypes.bfloat16


def test_results_may_have_one_field_or_none():
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { add(%x, %x) }'
    takes = (Argument("x", structure("tensor"), 0),)
    exe = relay.compile(
        with_convention(text, Convention(takes, structure(keyed("tuple", 0), "tensor")))
    )
    (found,) = exe(np.ones(2, "float32"))
    np.testing.assert_array_equal(found, [2, 2])
    numbered = compile_program(
        with_convention(text, Convention(takes, structure("tensor"))), whole=True
    )
    exe = make_executable(
        numbered.program, numbered.code, numbered.weights, convention=numbered.convention
    )
    np.testing.assert_array_equal(exe(np.ones(2, "float32")), [2, 2])
