"""Branches and loops of scripts."""

import torch

from tests.support.scripts import check

X = torch.arange(6, dtype=torch.float32).reshape(2, 3)
NUMBER = ("n", ((), "int64"))


def branches(x: torch.Tensor, n: int):
    if n > 2:
        y = x * 2
    elif n > 0:
        y = x + n
    else:
        y = x
    return y, n


def early_return(x: torch.Tensor, n: int):
    if n == 0:
        return x
    for i in range(n):
        x = x * 2
        if i == 2:
            return x + 1
    return x + 2


def while_loop(x: torch.Tensor, n: int):
    count = 0
    while n * count < 100:
        x = x * 2
        count += 1
        if count == 7:
            break
        if count % 2 == 0:
            continue
        x = x + 1
    return x, count


def test_branches():
    infos = [("x", (2, 3)), NUMBER]
    check(branches, *((X, n) for n in (3, 1, 0)), infos=infos)
    check(branches, *((X, n) for n in (3, 1, 0)), infos=infos, compiled=True)


def test_early_returns():
    check(early_return, *((X, n) for n in (0, 1, 2, 5)), infos=[("x", (2, 3)), NUMBER])


def test_loops_that_break_and_continue():
    infos = [("x", (2, 3)), NUMBER]
    check(while_loop, *((X, n) for n in (1, 50, 30)), infos=infos)
    check(while_loop, (X, 30), infos=infos, compiled=True)
