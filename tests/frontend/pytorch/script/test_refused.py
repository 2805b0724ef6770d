"""What scripts may not do, and how that is said."""

import re

import pytest
import torch

import relay
from relay.errors import EvaluationError, FrontendError
from relay.frontend import from_pytorch

X = torch.ones(2, 3)
INFOS = [("x", (2, 3)), ("n", ((), "int64"))]


def forked(x: torch.Tensor, n: int):
    future = torch.jit.fork(helper, x)
    return torch.jit.wait(future) + x


def helper(x: torch.Tensor):
    return x * 2


def computed_key(x: torch.Tensor, n: int):
    held: dict[int, torch.Tensor] = {1: x}
    held[n] = x * 2
    return held[1]


def different_keys(x: torch.Tensor, n: int):
    held = {"a": x}
    if n > 1:
        held["b"] = x
    return held["a"]


def always_fails(x: torch.Tensor, n: int):
    if n > 1:
        raise ValueError("more than one")
    raise ValueError(f"too few: {n}")
    return x


def fails_in_a_loop(x: torch.Tensor, n: int):
    for i in range(n):
        if i == 3:
            raise ValueError("three turns are enough")
    return x


def out_of_range(x: torch.Tensor, n: int):
    found = [x, x + 1]
    for i in range(n):
        found.append(x * i)
    return found[n + 5]


def divided(x: torch.Tensor, n: int):
    return 7 // n


def test_all_that_is_not_supported_is_reported_at_once():
    with pytest.raises(FrontendError) as error:
        from_pytorch(torch.jit.script(forked), INFOS)
    text = str(error.value)
    assert "prim::fork" in text
    assert "aten::wait" in text
    assert re.search(r"test_refused.py:\d+", text)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (computed_key, "a key of a dictionary is computed"),
        (different_keys, "a dictionary is changed to different kinds of values"),
    ],
)
def test_a_script_is_refused_with_its_line(function, message):
    with pytest.raises(FrontendError, match=message) as error:
        from_pytorch(torch.jit.script(function), INFOS)
    assert "test_refused.py" in str(error.value)


def test_failures_of_the_program_end_the_run():
    cases = [
        (always_fails, 2, "more than one"),
        (always_fails, 1, "too few"),
        (fails_in_a_loop, 5, "three turns are enough"),
        (out_of_range, 1, "list index out of range"),
        (divided, 0, "integer division or modulo by zero"),
    ]
    for function, n, message in cases:
        mod, params = from_pytorch(torch.jit.script(function), INFOS)
        with pytest.raises(EvaluationError, match=message):
            relay.create_executor("debug", mod).evaluate()(X.numpy(), n, **params)


def test_inputs_have_to_be_described():
    for infos, message in [
        ([("x", (2, 3))], "input `n` is not described"),
        ([("x", (2, 3)), ("n", ()), ("y", ())], "too many inputs"),
        ([("x", (2, 3)), ("x", ())], "two inputs have the name `x`"),
        ([("x", "float32"), ("n", ())], "described by neither a shape nor an example"),
        ("x", "inputs are given as a list"),
    ]:
        with pytest.raises(FrontendError, match=message):
            from_pytorch(torch.jit.script(computed_key), infos)


def test_recursion_is_refused_by_torch_itself():
    with pytest.raises(RuntimeError, match="Recursive calls are not supported"):
        torch.jit.script(recursive)


def recursive(n: int) -> int:
    return 1 if n == 0 else recursive(n - 1)
