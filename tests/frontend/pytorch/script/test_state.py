"""What scripted modules keep from call to call."""

import numpy as np
import pytest
import torch

import relay
from relay.errors import FrontendError
from relay.frontend import from_pytorch
from tests.support.scripts import check

X = torch.arange(6, dtype=torch.float32).reshape(2, 3)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor):
        self.steps += 1
        return x * self.steps


class Running(torch.nn.Module):
    """State of which the rank, the presence and the kind change."""

    last: torch.Tensor | None
    sums: list[int]

    def __init__(self):
        super().__init__()
        self.state = torch.zeros([0])
        self.last = None
        self.calls = 0
        self.scale = 1.5
        self.seen = False
        self.sums = [0, 0]

    def forward(self, x: torch.Tensor):
        if self.state.dim() == 1:
            self.state = x * 0
        self.state = self.state + x
        last = self.last
        if last is not None:
            x = x + last
        self.last = x
        self.calls += 1
        if self.calls > 2:
            self.scale = self.scale * 2
            self.seen = True
        self.sums[0] += self.calls
        return self.state, x * self.scale, self.calls, self.seen, self.sums


class Resets(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.h = torch.zeros([0])
        self.count = 0

    @torch.jit.export
    def reset(self):
        self.h = torch.zeros([0])
        self.count = 0

    def forward(self, x: torch.Tensor, n: int):
        if self.count != n:
            self.reset()
        if len(self.h) == 0:
            self.h = torch.zeros([2, 3])
        self.h = self.h + x
        self.count = n
        return self.h


def test_a_counter_is_called_a_hundred_times():
    check(Counter(), *[(X,)] * 100)
    mod, params = from_pytorch(torch.jit.script(Counter()), [("x", (2, 3))])
    exe = relay.compile(mod, params)
    for _ in range(100):
        found = exe(X.numpy())
    assert int(exe.state["steps"].numpy()) == 100
    np.testing.assert_array_equal(np.asarray(found), X.numpy() * 100)
    exe.reset()
    np.testing.assert_array_equal(np.asarray(exe(X.numpy())), X.numpy())


def test_state_of_changing_form():
    check(Running(), *((X + i,) for i in range(5)))


@pytest.mark.full
def test_compiled_state_of_changing_form():
    check(Running(), *((X + i,) for i in range(5)), compiled=True)


def test_state_that_branches_reset():
    calls = [(X + i, n) for i, n in enumerate((1, 1, 2, 2, 2, 1))]
    check(Resets(), *calls, infos=[("x", (2, 3)), ("n", ((), "int64"))], compiled=True)


class Growing(torch.nn.Module):
    seen: list[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x: torch.Tensor):
        self.seen.append(x)
        return len(self.seen)


def test_a_list_that_grows_from_call_to_call_is_refused():
    with pytest.raises(FrontendError, match="`seen` becomes a list of a length"):
        from_pytorch(torch.jit.script(Growing()), [("x", (2, 3))])


class Tables(torch.nn.Module):
    table: dict[str, int]

    def __init__(self):
        super().__init__()
        self.table = {"a": 1, "b": 2}
        self.names = ["a", "b"]

    def forward(self, x: torch.Tensor, n: int):
        self.table["a"] += n
        total = 0
        for name in self.names:
            total += self.table[name]
        return x * total


def test_dictionaries_are_state():
    check(Tables(), (X, 3), (X, 1), (X, 2), infos=[("x", (2, 3)), ("n", ((), "int64"))])
