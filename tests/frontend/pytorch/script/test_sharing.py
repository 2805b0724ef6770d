"""Tensors that scripts change in place."""

import pytest
import torch

from relay.errors import FrontendError
from relay.frontend import from_pytorch
from tests.support.looping import each
from tests.support.scripts import check

X = torch.arange(12, dtype=torch.float32).reshape(3, 4)
INFOS = [("x", (3, 4)), ("n", ((), "int64"))]


def of_kept(x: torch.Tensor, n: int):
    y = x * 1
    kept = torch.dropout(y, 0.5, False)
    kept += 2
    return kept, y


def added(x: torch.Tensor, n: int):
    y = x * 2
    y += 1
    y.mul_(n)
    return y


def through_views(x: torch.Tensor, n: int):
    y = x * 1
    y[0] = 5
    y[:, 1] += 2
    y[1:, 2:] = x[:2, :2]
    row = y[2]
    row.zero_()
    flat = y.view(-1)
    flat[3] = 77
    turned = y.t()
    turned[1] *= 3
    return y, row, flat, turned, y.select(1, 2), y.unsqueeze(0)


def in_a_loop(x: torch.Tensor, n: int):
    found = x * 0
    for i in range(n):
        found[i] = x[i] * i
        found[:, i] += 1
    return found


def in_a_branch(x: torch.Tensor, n: int):
    y = x * 1
    z = y[0]
    if n > 1:
        y += 1
    else:
        z.fill_(n)
    return y, z


def carried(x: torch.Tensor, n: int):
    y = x * 1
    for _ in range(n):
        y += x
        y *= 2
    return y


def of_integers(x: torch.Tensor, n: int):
    y = x * 1
    y[0, n] = 3
    y.copy_(x[1])
    y[-1].copy_(x[0])
    return y


def chunks(x: torch.Tensor, n: int):
    y = x * 1
    a, b = y.chunk(2, dim=1)
    a.zero_()
    b += a + 1
    return y, a, b


@each(
    "function",
    [of_kept, added, through_views, in_a_loop, in_a_branch, carried, of_integers, chunks],
)
def test_changes_in_place_agree_with_torch(function):
    check(function, *((X, n) for n in (2, 1, 3)), infos=INFOS)


def test_changes_in_place_compile():
    for function in (in_a_loop,):
        check(function, *((X, n) for n in (2, 3)), infos=INFOS, compiled=True)


def of_a_copy(x: torch.Tensor, n: int):
    y = x * 1
    z = y.t().contiguous()
    z += 1
    return z, y


def of_two(x: torch.Tensor, n: int):
    y = x * 1
    z = y
    if n > 1:
        z = x * 2
    z += 1
    return y


def of_a_reshape(x: torch.Tensor, n: int):
    y = x * 1
    z = y.reshape(-1)
    z += 1
    return y


def of_a_list(x: torch.Tensor, n: int):
    y = x * 1
    found = [y]
    for _ in range(n):
        found.append(y)
    y += 1
    return found


@each("function", [of_two, of_a_reshape, of_a_copy, of_a_list])
def test_a_change_that_others_may_see_is_refused(function):
    with pytest.raises(FrontendError, match="changed through another name"):
        from_pytorch(torch.jit.script(function), INFOS)
