"""Native code reads plain values of Python as the readers in Python do, or not at all."""

import ctypes
import random
import sys
import threading
import weakref
from array import array
from contextlib import suppress
from dataclasses import dataclass, field, make_dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay import dtypes
from relay.errors import EvaluationError, RelayError
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.native.python_values import GAVE_UP, HOLDS, READ
from relay.program.program import (
    Constructor,
    DataSpec,
    DataType,
    ReferenceSpec,
    ScalarSpec,
    flatten,
)
from relay.target.llvm.executable import encode_native
from relay.target.llvm.executable.encode import Readers, leaves_of
from relay.target.llvm.executable.encode_native import Reading, reading_plan
from relay.target.llvm.executable.message import INDEX, Message, Mismatch
from relay.target.llvm.executable.style import python_style
from relay.target.llvm.program.words import is_object
from tests.target.llvm.executable.native_values import (
    FLOAT,
    INT,
    INTS,
    MAYBE,
    MIXED,
    PAIRS,
    ROSE,
    TREE,
    TYPES,
    VECTOR,
    function,
    list_of,
)

ONES = np.ones(3, np.float32)


@dataclass(eq=False)
class Leaf:
    value: Any


@dataclass(eq=False)
class Node:
    left: Any
    right: Any


@dataclass(eq=False)
class Rose:
    value: float
    children: list = field(default_factory=list)


@dataclass(eq=False)
class Mix:
    number: int
    inside: tuple
    tree: Any


class Both:
    """Arguments of some types, as both ways read them."""

    def __init__(self, *structures, types=TYPES):
        self.structures = structures
        self.readers = Readers({kind.name: kind for kind in types})
        self.leaves = flatten(structures)
        self.each = [self.readers[leaf] for leaf in self.leaves]
        self.plan = reading_plan(structures, self.readers)
        self.words = array("q", bytes(8 * max(1, len(self.leaves))))
        self.request = array("q", bytes(80))
        addresses = self.request.buffer_info()[0], self.words.buffer_info()[0]
        self.reading = Reading(self.plan, *addresses)

    def in_python(self, args):
        message = Message()
        parts = leaves_of(self.structures, args)
        words = [read(part, message) for read, part in zip(self.each, parts, strict=True)]
        message.finish()
        self.plan.learn()
        return graph(self.leaves, words, message.words, message.count)

    def natively(self, args):
        """The status, and what was read."""
        status = self.reading.read(args)
        try:
            if status == GAVE_UP:
                return status, None
            address, count = self.request[2:4]
            return status, graph(self.leaves, self.words, Memory(address), count)
        finally:
            if status == HOLDS:
                self.reading.end()

    def agree(self, *args):
        expected = self.in_python(args)
        status, found = self.natively(args)
        assert status != GAVE_UP
        assert found == expected
        return status

    def refuses(self, *args):
        """Native code does not take it, though Python does, or does not."""
        with suppress(RelayError, Mismatch):
            self.in_python(args)
        counts = refcounts(args)
        assert self.natively(args)[0] == GAVE_UP
        assert refcounts(args) == counts
        return True


class Memory:
    """Words somewhere."""

    def __init__(self, address):
        self.address = address

    def __getitem__(self, place):
        return ctypes.c_int64.from_address(self.address + 8 * place).value


def graph(leaves, words, entries, count):
    """What words mean, with objects numbered as they are met: the same for the same values."""
    found, at = {}, 0
    for _ in range(count):
        kind, index = entries[at] % INDEX, entries[at] // INDEX
        if kind == layout.TENSOR:
            size = 4 + entries[at + 1]
        else:
            assert kind == layout.DATA
            size = 4 + entries[at + 3]
        assert index not in found
        found[index] = [entries[place] for place in range(at, at + size)]
        at += size
    assert sorted(found) == list(range(count))
    numbers, order = {}, []

    def outside(word):
        if word % 2:
            return word
        if word // 2 not in numbers:
            numbers[word // 2] = 2 * len(numbers)
            order.append(word // 2)
        return numbers[word // 2]

    roots = [
        outside(word) if is_object(leaf) else word
        for leaf, word in zip(leaves, words, strict=False)
    ]
    out = []
    for index in order:  # which grows
        kind, *entry = found[index]
        if kind % INDEX == layout.TENSOR:
            out.append(("tensor", *entry))
        else:
            tag, objects, size, *parts = entry
            out.append((tag, *map(outside, parts[:objects]), *parts[objects:]))
            assert len(parts) == size
    assert len(order) == count
    return roots, out


def names_of(value):
    return getattr(type(value), "__match_args__", ())


def refcounts(values):
    """Those of all that values lead to."""
    seen, pending, order = set(), [*values], []
    while pending:
        value = pending.pop()
        if id(value) in seen or value is None or isinstance(value, int | float):
            continue
        if isinstance(value, tuple) and not value:  # there is only one, which everybody has
            continue
        seen.add(id(value))
        order.append(value)
        if isinstance(value, list | tuple):
            pending += value
        elif not isinstance(value, np.ndarray):
            pending += [getattr(value, name, None) for name in names_of(value)]
    del pending, value
    return [sys.getrefcount(order[place]) for place in range(len(order))]


# --- what is read -------------------------------------------------------------------------------


SCALARS = ["bool", "int4", "int8", "uint16", "int32", "int64", "uint64"]
SCALARS += ["float32", "float64"]


class Maker:
    """Types, classes and values, by chance."""

    def __init__(self, seed):
        self.random = chance = random.Random(seed)
        self.names = [f"T{number}" for number in range(chance.randint(1, 4))]
        self.types, self.classes, self.made = {}, {}, {}
        for name in self.names:
            made = [
                Constructor(f"{name}C{tag}", tuple(self.field(2) for _ in range(tag)))
                for tag in range(chance.randint(1, 4))
            ]
            if chance.random() < 0.5:
                made.reverse()
            self.types[name] = DataType(name, tuple(made))
            for one in made:
                parts = [f"field{place}" for place in range(len(one.fields))]
                slots = chance.random() < 0.3
                made_class = make_dataclass(one.name, parts, eq=False, slots=slots)
                self.classes[one.name] = made_class
        for name in self.names:
            element = self.leaf()
            self.types[f"List[{name}]"] = list_of(f"List[{name}]", (element, DataSpec(name)))
            self.types[f"Option[{name}]"] = DataType(
                f"Option[{name}]",
                (Constructor("Some", (DataSpec(name),)), Constructor("None", ())),
            )
        self.arguments = tuple(self.field(2) for _ in range(chance.randint(1, 4)))

    def leaf(self):
        if self.random.random() < 0.5:
            return ScalarSpec(self.random.choice(SCALARS))
        dims = [self.random.choice([1, 2, "?", "n"]) for _ in range(self.random.randint(1, 3))]
        return TensorSpec(tuple(dims), self.random.choice(["float32", "int64", "bool"]))

    def field(self, depth):
        roll = self.random.random()
        if roll < 0.4:
            return self.leaf()
        if roll < 0.5 and depth:
            return tuple(self.field(depth - 1) for _ in range(self.random.randint(0, 3)))
        name = self.random.choice(self.names)
        return DataSpec(self.random.choice([name, name, f"List[{name}]", f"Option[{name}]"]))

    def value(self, structure, depth):
        chance = self.random
        before = self.made.setdefault(structure, [])
        if before and chance.random() < 0.3:
            return chance.choice(before)
        if isinstance(structure, tuple):
            made = tuple(self.value(part, depth) for part in structure)
        elif isinstance(structure, ScalarSpec):
            made = self.scalar(structure.dtype)
        elif isinstance(structure, TensorSpec):
            shape = [
                3 if size == "n" else chance.randint(0, 3) if size == "?" else size
                for size in structure.shape
            ]
            made = np.zeros(shape, dtypes.to_numpy(structure.dtype))
        else:
            made = self.data(structure.name, depth)
        before.append(made)
        return made

    def scalar(self, dtype):
        chance = self.random
        if dtype == "bool":
            return chance.random() < 0.5
        if dtypes.is_integer(dtype):
            low, high = encode_native.integer_range(dtype)
            return chance.randint(low, min(high, 2**63 - 1))
        special = [float("nan"), float("inf"), -0.0, 1e300, -1e-310, 7, -(2**62) - 1]
        return chance.choice([chance.gauss(0, 1e3), chance.choice(special)])

    def data(self, name, depth):
        kind = self.types[name]
        if name.startswith("List"):
            length = self.random.randint(0, 4) if depth > 0 else 0
            return [self.value(kind["Cons"].fields[0], depth - 1) for _ in range(length)]
        if name.startswith("Option"):
            if depth <= 0 or self.random.random() < 0.3:
                return None
            return self.value(kind["Some"].fields[0], depth - 1)
        made = kind.constructors
        chosen = self.random.choice(made) if depth > 0 else min(made, key=lambda c: len(c.fields))
        parts = [self.value(part, depth - 1) for part in chosen.fields]
        return self.classes[chosen.name](*parts)


def check_seed(seed):
    maker = Maker(seed)
    both = Both(*maker.arguments, types=maker.types.values())
    for _ in range(4):
        maker.made.clear()
        args = tuple(maker.value(part, 5) for part in maker.arguments)
        both.in_python(args)
        counts = refcounts(args)
        both.agree(*args)
        assert refcounts(args) == counts


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_both_read_the_same_of_values_of_any_type(seed):
    check_seed(seed)


@pytest.mark.full
@pytest.mark.parametrize("start", range(0, 5000, 500))
def test_both_read_the_same_of_many(start):
    for seed in range(start, start + 500):
        check_seed(seed)


def test_what_is_shared_stays_shared_in_large_graphs():
    both = Both(TREE)
    tree = Leaf(ONES)
    made = [tree]
    for number in range(3000):
        made.append(Node(made[-1], made[number // 2]))
    assert both.agree(made[-1]) == HOLDS


def test_values_may_be_long_and_deep():
    both = Both(INTS, TREE)
    tree = Leaf(ONES)
    for _ in range(20_000):
        tree = Node(tree, Leaf(ONES))
    both.agree(list(range(20_000)), tree)
    both.agree([], Leaf(ONES))


def test_one_object_may_be_of_two_types():
    floats = list_of("List[float32]", FLOAT)
    numbers = [1, 2]
    both = Both(INTS, DataSpec("List[float32]"), types=[*TYPES, floats])
    both.agree(numbers, numbers)


def test_only_what_is_in_mutable_things_is_held():
    assert Both(VECTOR, (INT, VECTOR)).agree(ONES, (1, ONES)) == READ
    assert Both(MAYBE, MAYBE).agree(ONES, None) == READ
    assert Both(PAIRS).agree([(1, ONES)]) == HOLDS


def test_arrays_live_until_the_call_is_over():
    both = Both(TREE)
    leaf = Leaf(np.ones(5, np.float32))
    both.in_python((leaf,))
    watched = weakref.ref(leaf.value)
    assert both.reading.read((leaf,)) == HOLDS
    leaf.value = None
    assert watched() is not None
    both.reading.end()
    assert watched() is None


def test_a_reading_that_was_never_ended_ends_with_the_next():
    both = Both(TREE)
    leaf = Leaf(np.ones(5, np.float32))
    both.in_python((leaf,))
    both.reading.read((leaf,))
    watched = weakref.ref(leaf.value)
    leaf.value = ONES
    assert both.reading.read((leaf,)) == HOLDS
    assert watched() is None
    both.reading.end()


def test_slots_and_named_tuples_are_read():
    class Slotted:
        __slots__ = __match_args__ = ("value", "children")

    class Named(NamedTuple):
        value: float
        children: list

    slotted = Slotted()
    slotted.value, slotted.children = 1.0, [Rose(2.0)]
    Slotted.__name__ = Named.__name__ = "Rose"
    Both(ROSE).agree(slotted)
    Both(ROSE).agree(Named(1.0, [Rose(2.0)]))


def test_sizes_with_names_agree_in_a_call():
    both = Both(TensorSpec(("n", 2), "float32"), TensorSpec(("n",), "int64"))
    for size in (3, 0, 5):
        both.agree(np.ones((size, 2), np.float32), np.zeros(size, np.int64))
    both.refuses(np.ones((3, 2), np.float32), np.zeros(4, np.int64))


# --- what is not --------------------------------------------------------------------------------


class MyList(list):
    pass


class MyArray(np.ndarray):
    pass


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (INT, True),
        (INT, 2**31),
        (INT, 2**64),
        (INT, 1.0),
        (INT, np.int32(1)),
        (ScalarSpec("uint64"), 2**63),
        (ScalarSpec("uint64"), -1),
        (ScalarSpec("bool"), 1),
        (ScalarSpec("float16"), 1.0),
        (FLOAT, 10**30),
        (FLOAT, np.float32(1)),
        (FLOAT, "1"),
        (VECTOR, ONES.view(MyArray)),
        (VECTOR, ONES.astype(np.float64)),
        (VECTOR, ONES.astype(">f4")),
        (VECTOR, np.ones((2, 2), np.float32)),
        (VECTOR, np.ones(6, np.float32)[::2]),
        (VECTOR, np.zeros(13, np.uint8)[1:].view(np.float32)),
        (VECTOR, [1.0]),
        (VECTOR, None),
        (TensorSpec((4,), "float32"), ONES),
        (INTS, MyList([1])),
        (INTS, (1, 2)),
        (INTS, [1, 2, "3"]),
        (INTS, None),
        (PAIRS, [[1, ONES]]),
        (PAIRS, [(1, ONES, 2)]),
        (PAIRS, [(1, ONES), (2, None)]),
        ((INT, INT), [1, 2]),
        ((INT, INT), (1, 2, 3)),
        (MAYBE, "text"),
        (TREE, Node(Leaf(ONES), Node(Leaf(ONES), Leaf(ONES.tolist())))),
        (TREE, Leaf(Leaf(ONES))),
        (ROSE, Rose(1.0, [Rose(2.0), Rose("3")])),
        (ROSE, Rose(1.0, [Rose(2.0, None)])),
        (MIXED, Mix(1, (True, (ONES, 2)), None)),
        (ReferenceSpec(INT), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_anything_unusual_is_left_to_python(spec, value):
    both = Both(spec)
    if spec == TREE:
        both.in_python((Node(Leaf(ONES), Leaf(ONES)),))
    if spec == ROSE:
        both.in_python((Rose(1.0),))
    assert both.refuses(value)


def test_other_numbers_of_arguments_are_left_to_python():
    both = Both(INT, INT)
    assert both.natively((1,))[0] == GAVE_UP
    assert both.natively((1, 2))[0] == READ


def test_fields_that_run_code_are_left_to_python():
    class WithProperty:
        __match_args__ = ("value", "children")
        children = ()

        @property
        def value(self):
            return 1.0

    class Dynamic:
        __match_args__ = ("value", "children")

        def __getattr__(self, name):
            return {"value": 1.0, "children": []}[name]

    class Watched(Rose):
        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    for cls, args in ((WithProperty, ()), (Dynamic, ()), (Watched, (1.0,))):
        cls.__name__ = "Rose"
        both = Both(ROSE)
        both.in_python((cls(*args),))
        assert both.refuses(cls(*args))


def test_a_missing_field_is_left_to_python():
    both = Both(ROSE)
    both.in_python((Rose(1.0),))
    broken = Rose(1.0)
    del broken.value
    assert both.natively((Rose(1.0, [broken]),))[0] == GAVE_UP


def test_more_classes_than_there_is_room_for_are_left_to_python():
    both = Both(ROSE)
    for number in range(40):
        cls = make_dataclass("Rose", ["value", ("children", list, field(default_factory=list))])
        if number < 10:
            both.agree(cls(1.0))
        else:
            both.in_python((cls(1.0),))
    assert both.refuses(cls(1.0))
    assert function(ROSE)([cls(1.5)], None, python_style({"Rose": Rose})).value == 1.5


def test_classes_that_change_and_lists_that_shrink_do_no_harm():
    class Odd:
        __match_args__ = ("value", "children")

        def __init__(self, children):
            self.children = children

        value = 1.0

    Odd.__name__ = "Rose"
    both = Both(ROSE)
    both.agree(Odd([]))

    def value(self):
        siblings.clear()
        return float("inf")

    siblings = [Odd([Odd([]) for _ in range(5)]) for _ in range(20)]
    root = Odd(siblings)
    Odd.value = property(value)
    for _ in range(3):
        both.natively((root,))
        siblings.extend(Odd([]) for _ in range(20))


def test_the_end_of_an_object_may_call_the_program_again():
    called = function(TREE)
    again = []

    class Last(Leaf):
        def __del__(self):
            again.append(called([Leaf(self.value)], None, python_style()))

    Last.__name__ = "Leaf"
    called([Leaf(ONES)])
    tree = Node(Last(ONES), Leaf(ONES))
    for _ in range(2):
        called([tree])
    del tree
    called([Leaf(ONES)])
    assert len(again) == 1


# --- calls --------------------------------------------------------------------------------------


def test_calls_say_what_is_wrong_and_go_on():
    called = function(ROSE)
    style = python_style({"Rose": Rose})
    for number in range(3):
        assert called([Rose(float(number))], None, style).value == number
        with pytest.raises(EvaluationError, match="element 1 of the list"):
            called([Rose(1.0, [Rose(2.0), None])])
        with pytest.raises(EvaluationError, match="argument `x0`"):
            called([None])


def test_references_stay_balanced_over_calls_from_several_threads():
    called = function(TREE, INTS)
    tree = Node(Leaf(ONES), Node(Leaf(ONES), Leaf(np.ones(2, np.float32))))
    numbers = [1, 2, 3]
    style = python_style({"Leaf": Leaf, "Node": Node})
    called([tree, numbers], None, style)
    counts = refcounts((tree, numbers))
    wrong = []

    def work():
        for _ in range(200):
            _, found = called([tree, numbers], None, style)
            if found != numbers:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert refcounts((tree, numbers)) == counts


def test_it_works_without(monkeypatch):
    monkeypatch.setattr(encode_native, "python_table", lambda: None)
    called = function(ROSE)
    assert called.plan is None
    assert called([Rose(2.5)], None, python_style({"Rose": Rose})).value == 2.5
