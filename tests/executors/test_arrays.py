"""One rule for tensors that come from outside (`relay.nd`), whatever runs the program."""

import array

import numpy as np
import pytest
import torch

import relay
from relay.errors import RelayError

KINDS = ("float32", "int64", "bool")
STATIC = "Tensor[(2,), {0}]"
OPEN = "Tensor[(?,), {0}]"


def engines(dtype):
    """Whatever takes an `x` of two elements and gives it back, by name."""
    found = {}
    for size, ty in (("static", STATIC), ("open", OPEN)):
        source = f"def @main(%x: {ty.format(dtype)}) {{ concatenate((%x, %x)) }}"
        mod = relay.parse(f'#[version = "0.0.5"]\n{source}')
        found[size] = relay.compile(mod)
        for kind in ("debug", "vm", "aot"):
            found[f"{size} {kind}"] = relay.create_executor(kind, mod).evaluate()
    ty = STATIC.format(dtype)
    source = f"def @main(%x: {ty}, %w: {ty}) {{ (%x, concatenate((%w, %w))) }}"
    mod = relay.parse(f'#[version = "0.0.5"]\n{source}')
    zeros = np.zeros(2, dtype)
    found["graph"] = relay.create_executor("graph", relay.parse(_static(dtype))).evaluate()
    exe = relay.compile(mod, {"w": zeros})

    def set_params(x):
        exe.set_params(w=x)
        return exe(zeros)[1]

    found["set_params"] = set_params
    found["params"] = lambda x: relay.compile(mod, {"w": x})(zeros)[1]
    return found


def _static(dtype):
    source = f"def @main(%x: {STATIC.format(dtype)}) {{ concatenate((%x, %x)) }}"
    return f'#[version = "0.0.5"]\n{source}'


@pytest.fixture(scope="module", params=KINDS)
def every(request):
    return request.param, engines(request.param)


class Foreign:
    """What only NumPy knows to read."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return self.data


def taken(dtype):
    """What stands for the tensor [1, 0] of that type."""
    base = np.array([1, 0], dtype)
    tensor = torch.from_numpy(base)
    yield base.astype(base.dtype.newbyteorder(">"))
    yield base[::-1].copy()[::-1]
    yield np.array([1, 7, 0, 7], dtype)[::2]
    yield np.frombuffer(base.tobytes(), dtype)
    yield np.frombuffer(b"x" + base.tobytes(), np.uint8)[1:].view(dtype)
    yield relay.nd.array(base)
    yield relay.nd.NDArray(base.astype(base.dtype.newbyteorder(">")))
    yield tensor
    yield torch.stack([tensor, tensor], 1)[:, 0]
    yield Foreign(base)
    yield memoryview(base)
    yield base.tolist()
    yield tuple(base.tolist())
    if dtype == "float32":
        yield tensor.clone().requires_grad_()
        yield torch.nn.Parameter(tensor)
        yield torch._neg_view(-tensor)
        yield [1, 0.0]
        yield [np.float64(1), np.float64(0)]
    if dtype != "bool":
        yield range(1, -1, -1)
        yield array.array({"float32": "f", "int64": "q"}[dtype], [1, 0])


def refused(dtype):
    """What is no tensor of that type with one dimension."""
    base = np.array([1, 0], dtype)
    for other in {"float32", "float64", "int32", "int64", "bool", "float16"} - {dtype}:
        yield base.astype(other)
        yield relay.nd.array(base.astype(other))
        yield torch.from_numpy(base.astype(other))
    yield torch.ones(2, dtype=torch.bfloat16)
    yield from (None, "text", {"x": base}, {1, 0}, int, 1, True, base.reshape(1, 2), 1j)
    yield from ([[1], [1, 2]], [1, None], [1j, 0], [2**70, 0], torch.ones(2, device="meta"))
    yield from (torch.ones(2).to_sparse(), np.array([1, None]), np.array([1, 0], "M8[s]"))
    yield [1.5, 0] if dtype == "int64" else [1, 0] if dtype == "bool" else [True, False]


def test_layout_and_byte_order_never_matter_and_numbers_take_the_type_wanted(every):
    dtype, runs = every
    for given in taken(dtype):
        for name, run in runs.items():
            result = np.asarray(run(given))
            assert result.tolist() == [1, 0, 1, 0], (name, given)
            assert result.dtype == dtype


def test_other_element_types_and_other_things_are_refused(every):
    dtype, runs = every
    for given in refused(dtype):
        for name, run in runs.items():
            with pytest.raises(RelayError):
                print(name, given, run(given))


def test_the_hint_is_what_converts_it(every):
    dtype, runs = every
    other = np.array([1, 0], "float16")
    torch_hint = f"convert it: x.to(torch.{dtype})"
    hints = {
        f"convert it: x.astype('{dtype}')": [other, relay.nd.array(other)],
        torch_hint: [torch.from_numpy(other)],
    }
    for hint, given in hints.items():
        for x in given:
            for name, run in runs.items():
                with pytest.raises(RelayError) as error:
                    run(x)
                by_value = " " in name or name == "graph"  # it has become a value by then
                assert (hint.replace(torch_hint, "convert it: ") if by_value else hint) in str(
                    error.value
                ), name
                converted = eval(hint.removeprefix("convert it: "))
                assert np.asarray(run(converted)).tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("dtype", "number"), [("int8", 300), ("uint8", -1), ("int4", 9), ("uint64", 2**70)]
)
def test_an_integer_that_does_not_fit_is_refused(dtype, number):
    wanted = relay.dtypes.to_numpy(dtype)
    with pytest.raises(RelayError, match=r"does not fit|cannot make a tensor"):
        relay.nd.as_tensor([number], wanted)
    with pytest.raises(RelayError, match=f"{number} does not fit|cannot make a tensor"):
        relay.nd.as_tensor(number, wanted)


def test_a_float_that_is_too_large_is_infinite():
    assert relay.nd.as_tensor([1e300, -1e300], np.dtype("float32")).tolist() == [np.inf, -np.inf]
