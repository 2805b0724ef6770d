"""What the whole programs of this folder give, computed by plain Python.

Data is as Python has it: lists for `List`, None and a value for `Option`, and for other data types
a tuple of the constructor's name and its fields. Programs without an entry are there for their
form; any arguments of the right types do.
"""

from __future__ import annotations

import itertools

import numpy as np

f32 = np.float32


def closures_in_data(n, x):
    few, total = min(n, 20), x
    for k in range(few, 0, -1):
        total += k if k % 2 == 0 else 3 * k
    return total, few * few + x if few > 3 else few


def references_in_loops(n):
    start = min(n, 100)
    seen, steps = [start], 0
    while seen[0] > 1:
        seen.insert(0, seen[0] // 2 if seen[0] % 2 == 0 else 3 * seen[0] + 1)
        steps += 1
    a, b = 0, 1
    for _ in range(min(start, 40)):
        a, b = b, a + b
    return seen, steps, a, b


def knot(n):
    few = min(n, 12)
    return few, int(np.prod(range(1, few + 1), dtype=int)) if few > 1 else 1


def tuples_in_data(xs, ys):
    pairs = list(zip(xs, ys, strict=False))
    points = sum(x * y for x, y in pairs if x < y)
    named = sum(1000 if x == y else y * (x - y) for x, y in pairs if x >= y)
    return (points, named), ([x for x, _ in pairs], [y for _, y in pairs])


def functions_returning_functions(n, x):
    few = min(n, 10)
    a = 7
    for _ in range(few):
        a = 100 - a
    if few > 2:
        return a, few * few**3, x * 4, x * 2 > 10
    return a, few - 3 * few, x, -x > 10


def polymorphic_data(n, x):
    numbers = [i * i for i in range(min(n, 9))]
    total = x
    for i in numbers:
        total = total * f32(0.5) + x * f32(i)
    return numbers, total, [[i, min(n, 9)] for i in numbers], [i - 1 for i in numbers]


def red_black_tree(xs):
    return sorted(set(xs)), True


def early_results(xss, limit):
    over = next((x for xs in xss for x in xs if x > limit), None)
    first = xss[0] if xss else []
    at = (first.index(limit) if limit in first else -1) if xss else -2
    return over, at, next((xs for xs in xss if xs[:1] == [limit]), None)


def growing_tensors(x, times):
    few = max(min(times, 8), 0)
    one = x.sum(0, keepdims=True, dtype="float32")
    grown = np.concatenate([x, *(one * f32(k) for k in range(few, 0, -1))])
    normal = np.exp(grown - grown.max(0))
    normal = normal / normal.sum(0)
    return grown, (normal * grown).sum(0), grown[::2][::2], len(grown)


def recursive_descent(tokens):
    words = {-1: "+", -2: "*", -3: "(", -4: ")"}
    text = "".join(words.get(token, str(token)) for token in tokens)
    nodes = sum(token >= 0 or token in (-1, -2) for token in tokens)
    return eval(text), nodes


def lambda_calculus(n):
    return knot(min(n, 10))[1]


def queens(n):
    n = min(n, 5)
    return sum(
        all(abs(a - b) != j - i for (i, a), (j, b) in itertools.combinations(enumerate(p), 2))
        for p in itertools.permutations(range(max(n, 0)))
    )


def continuations(n, xs):
    def total(k):
        return k + 3 if k <= 0 else total(k - 1) * 2 - total(k - 2)

    result = 0
    for x in reversed(xs):
        result = result * 3 + x
    return total(min(n, 8)), result


def merge_sort(xs):
    return sorted(xs), sorted((x * -0.5, i) for i, x in enumerate(xs))


def tensors_in_trees(tree, w):
    _, x, below = tree
    found = [tensors_in_trees(child, w) for child in below]
    total = sum((state for state, _ in found), np.zeros((1, 3)))
    state = np.tanh(total @ w.T + x)
    return state, ("Rose", state, [tree for _, tree in found])


def _rose(*children):
    return ("Rose", np.array([[0.5, len(children), -1.0]], "float32"), list(children))


_ROWS = np.linspace(-1, 1, 10, dtype="float32").reshape(5, 2)
_THREE = np.array([1.5, -2.0, 0.25], "float32")
_SQUARE = np.array([[0.5, -1.0, 0.0], [0.25, 0.5, 1.0], [-0.5, 0.0, 0.75]], "float32")
_MANY = [(7919 * i) % 211 for i in range(60)]

# The function, and arguments to try: small ones, the empty ones, and those at a border.
CASES = {
    function.__name__: (function, arguments)
    for function, arguments in {
        closures_in_data: [(0, 5), (3, 1), (7, -2), (50, 3)],
        references_in_loops: [(-5,), (0,), (1,), (6,), (27,), (500,)],
        knot: [(-1,), (0,), (5,), (90,)],
        tuples_in_data: [([], [1]), ([1, 5, 3, 4], [2, 2, 3, 9, 7]), ([2] * 30, [3] * 30)],
        functions_returning_functions: [(-1, 3.0), (2, -11.0), (3, 6.0), (99, 0.5)],
        polymorphic_data: [(0, _THREE), (1, _THREE), (4, _THREE), (30, _THREE)],
        red_black_tree: [([],), ([3, 1, 2, 1],), (list(range(40)),), (_MANY,)],
        early_results: [
            ([], 3),
            ([[], [1, 2], [7, 1]], 3),
            ([[1, 3], [3, 4]], 3),
            ([[9], [9, 8]], 9),
        ],
        growing_tensors: [(_ROWS[:1], 0), (_ROWS, 3), (_ROWS[:3], 100), (_ROWS[:2], -4)],
        recursive_descent: [
            ([7],),
            ([1, -1, 2, -2, 3],),
            ([-3, 1, -1, 2, -4, -2, 3, -1, -3, -3, 4, -4, -4],),
        ],
        lambda_calculus: [(-2,), (0,), (1,), (6,), (10,)],
        queens: [(0,), (1,), (3,), (4,), (5,)],
        continuations: [(0, []), (1, [5]), (7, [1, 2, 3]), (20, list(range(8)))],
        merge_sort: [([],), ([1],), ([2, 1],), ([3, 1, 2, 3, 1],), (_MANY,)],
        tensors_in_trees: [
            (_rose(), _SQUARE),
            (_rose(_rose(), _rose(_rose(), _rose(), _rose(_rose()))), _SQUARE),
        ],
    }.items()
}
