"""Lists, tuples, dictionaries and optional values of scripts."""

from typing import NamedTuple

import pytest
import torch

from tests.support.looping import each
from tests.support.scripts import check

X = torch.arange(6, dtype=torch.float32).reshape(2, 3)
NUMBER = ("n", ((), "int64"))
BOTH = [("x", (2, 3)), NUMBER]


def grown(x: torch.Tensor, n: int):
    found = [x]
    for i in range(n):
        found.append(x * i)
    return found, len(found), found[-1], found[0]


def changed(x: torch.Tensor, n: int):
    found: list[torch.Tensor] = []
    for i in range(n + 3):
        found.append(x + i)
    last = found.pop()
    found[1] = last * 2
    found.insert(0, x)
    found.extend([x, x + 1])
    first = found.pop(0)
    return found, first, found[1:3], found[n], found[-n:]


def of_numbers(x: torch.Tensor, n: int):
    numbers = [1, 2, 3]
    if n > 1:
        numbers.append(n)
    total = 0
    for one in numbers:
        total += one
    return total, numbers, len(numbers), 2 in [1, n], [n, 2] == [3, 2]


def reduced(x: torch.Tensor, n: int):
    numbers = [3, n, 2]
    return sum(numbers), min(numbers), max(numbers), all(numbers), any([n > 5, n > 2])


def nested(x: torch.Tensor, n: int):
    rows: list[list[torch.Tensor]] = []
    for i in range(n):
        row: list[torch.Tensor] = []
        for j in range(i):
            row.append(x * j + i)
        rows.append(row)
    count = 0
    for row in rows:
        count += len(row)
    return rows, count


def sliced(x: torch.Tensor, n: int):
    numbers = [i * 2 for i in range(n + 5)]
    return numbers[1:], numbers[:-1], numbers[::2], numbers[1:n], numbers[-3:-1], numbers[n::2]


def comprehension(x: torch.Tensor, n: int):
    return [x * i for i in range(n)], [i * i for i in range(3)]


class Pair(NamedTuple):
    one: torch.Tensor
    other: int


def tuples(x: torch.Tensor, n: int):
    pair = Pair(x, n)
    if n > 1:
        pair = Pair(pair.one * 2, 7)
    a, b = (pair.one, pair.other)
    c = (a, (b, n))
    return pair, c, c[1][0]


def dictionaries(x: torch.Tensor, n: int):
    held: dict[str, torch.Tensor] = {"a": x}
    held["b"] = x * 2
    if n > 1:
        held["a"] = x + 5
    total = x
    for value in held.values():
        total = total + value
    if "c" in held:
        total = total * 100
    return held["a"], total, len(held)


def optional(x: torch.Tensor, n: int):
    found: torch.Tensor | None = None
    if n > 1:
        found = x * n
    if found is not None:
        x = x + found
    return x, found is None


def found_in_a_loop(x: torch.Tensor, n: int):
    best: torch.Tensor | None = None
    place: int | None = None
    for i in range(n):
        if best is None:
            best = x
        else:
            best = best * 2
            place = i
    if best is None:
        best = x - 1
    if place is None:
        place = -1
    return best, place


def given_optional(x: torch.Tensor, y: torch.Tensor | None = None):
    if y is None:
        return x
    return x + y


def aliased(x: torch.Tensor, n: int):
    one = [x]
    other = one
    other.append(x * 2)
    held = {"l": one}
    held["l"].append(x * 3)
    return len(one), other


CASES = [reduced, grown, changed, of_numbers, nested, sliced, comprehension, tuples, dictionaries]
CASES += [optional, found_in_a_loop, aliased]


@each("function", CASES)
def test_containers_agree_with_torch(function):
    check(function, *((X, n) for n in (3, 1, 2)), infos=BOTH)


def test_containers_compile():
    check(changed, *((X, n) for n in (3, 1, 2)), infos=BOTH, compiled=True)


@pytest.mark.full
@each("function", CASES)
def test_all_containers_compile(function):
    check(function, *((X, n) for n in (3, 1, 2)), infos=BOTH, compiled=True)


def test_an_optional_input_may_be_left_out():
    check(given_optional, (X,))
    check(given_optional, (X, X))


def lists(xs: list[torch.Tensor], numbers: list[list[int]]):
    total = 0
    for some in numbers:
        for one in some:
            total += one
    found = xs[0]
    for x in xs:
        found = found + x
    return found, total, numbers


def test_lists_are_inputs():
    infos = [("xs", (2, 3)), ("numbers", ())]
    calls = [([X, X + 1], [[1, 2], [], [3]]), ([X], [])]
    check(lists, *calls, infos=infos)


def pair_of(pair: tuple[torch.Tensor, torch.Tensor], xs: list[torch.Tensor]):
    return pair[0] + pair[1] * 2, xs


def test_tuples_and_lists_of_known_length_are_inputs():
    check(pair_of, ((X, X), [X, X + 1]))
