"""Nodes, the one way to walk them, and recursion without a stack."""

from __future__ import annotations

import gc
import sys
import traceback
import weakref
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, field
from types import GeneratorType
from typing import Any, ClassVar

import pytest

import relay
from relay import tree
from relay.tree import Node, Steps, node
from tests.support.sampling import deep

DEEP = deep(100_000)


@node
class Term(Node):
    family: ClassVar[type[Node]]
    note: str = field(default="", kw_only=True)
    memo: int | None = field(default=None, init=False)


Term.family = Term


@node
class Leaf(Term):
    value: int = 0


@node
class Pair(Term):
    left: Term
    right: Term | None = None


@node
class Many(Term):
    first: Leaf
    rest: tuple[Term, ...] = ()
    label: str = ""
    numbers: tuple[int, ...] = ()


def chain(depth: int) -> Term:
    made: Term = Leaf(0)
    for _ in range(depth):
        made = Pair(made)
    return made


# --- nodes


def test_nodes_are_equal_only_to_themselves():
    a, b = Leaf(1), Leaf(1)
    assert a == a
    assert a != b
    assert len({a, b}) == 2


def test_nodes_cannot_be_changed():
    leaf = Leaf(1)
    with pytest.raises(FrozenInstanceError):
        leaf.value = 2


def test_nodes_can_be_referred_to_weakly():
    leaf = Leaf(1)
    assert weakref.ref(leaf)() is leaf


def test_children_are_the_fields_of_the_family_in_order():
    a, b, c = Leaf(1), Leaf(2), Leaf(3)
    assert tree.children(a) == []
    assert tree.children(Pair(a, b)) == [a, b]
    assert tree.children(Pair(a)) == [a]
    assert tree.children(Many(a, (b, c), "label", (1, 2))) == [a, b, c]


def test_children_of_expressions_are_expressions_and_not_types():
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], x, x.type_annotation)
    assert tree.children(function) == [x, x]
    assert tree.children(x) == []


def test_memos_are_no_arguments():
    assert tree.own_fields(Many) == ("note", "first", "rest", "label", "numbers")


# --- replace and rebuild


def test_replace_changes_fields_and_forgets_memos():
    pair = Pair(Leaf(1), note="kept")
    object.__setattr__(pair, "memo", 5)
    other = Leaf(2)
    copied = tree.replace(pair, left=other)
    assert (copied.left, copied.note, copied.memo) == (other, "kept", None)
    assert (pair.left.value, pair.memo) == (1, 5)


def test_rebuild_over_the_same_children_is_the_node_itself():
    a, b = Leaf(1), Leaf(2)
    for original in (a, Pair(a), Pair(a, b), Many(a, (b, a))):
        object.__setattr__(original, "memo", 5)
        assert tree.rebuild(original, tree.children(original)) is original
        assert original.memo == 5


def test_rebuild_over_others_is_a_copy_without_memos():
    a, b, c = Leaf(1), Leaf(2), Leaf(3)
    many = Many(a, (b, b), "label", (7,), note="kept")
    object.__setattr__(many, "memo", 5)
    rebuilt = tree.rebuild(many, [a, b, c])
    assert (rebuilt.first, rebuilt.rest) == (a, (b, c))
    assert (rebuilt.label, rebuilt.numbers, rebuilt.note, rebuilt.memo) == (
        "label",
        (7,),
        "kept",
        None,
    )


def test_rebuild_leaves_out_absent_children():
    a, b = Leaf(1), Leaf(2)
    rebuilt = tree.rebuild(Pair(a), [b])
    assert (rebuilt.left, rebuilt.right) == (b, None)


def test_rebuild_needs_all_children():
    many = Many(Leaf(1), (Leaf(2), Leaf(3)))
    for wrong in ([Leaf(1), Leaf(2)], [Leaf(1)] * 4):
        with pytest.raises(ValueError, match=f"Many has 3 children, not {len(wrong)}"):
            tree.rebuild(many, wrong)


def test_a_rebuilt_expression_has_no_checked_type():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    pair = relay.Tuple([x])
    object.__setattr__(pair, "ty", relay.TupleType([x.type_annotation]))
    assert tree.rebuild(pair, [x]).ty is not None
    assert tree.rebuild(pair, [y]).ty is None


# --- postorder


def test_children_come_before_parents_from_left_to_right():
    a, b, c = Leaf(1), Leaf(2), Leaf(3)
    inner = Pair(a, b)
    outer = Pair(inner, c)
    assert list(tree.postorder(outer)) == [a, b, inner, c, outer]


def test_a_shared_node_comes_once():
    shared = Pair(Leaf(1))
    top = Pair(Pair(shared, shared), shared)
    order = list(tree.postorder(top))
    assert len(order) == len(set(order)) == 4
    assert order.index(shared) < order.index(top.left) < order.index(top)


def test_a_node_shared_at_several_depths_comes_before_all_its_parents():
    leaf = Leaf(1)
    middle = Pair(leaf)
    top = Pair(leaf, Pair(middle, Pair(middle, leaf)))
    order = list(tree.postorder(top))
    for parent in order:
        for child in tree.children(parent):
            assert order.index(child) < order.index(parent)


def test_what_is_not_entered_is_left_out():
    a, b = Leaf(1), Leaf(2)
    closed, opened = Pair(a), Pair(b)
    top = Pair(closed, opened)
    assert list(tree.postorder(top, lambda n: n is not closed)) == [closed, b, opened, top]


def test_a_graph_of_exponentially_many_paths_takes_linear_time():
    made: Term = Leaf(0)
    for _ in range(200):
        made = Pair(made, made)
    assert sum(1 for _ in tree.postorder(made)) == 201


# --- transform


def test_transform_rewrites_bottom_up():
    def grow(before: Term, after: Term) -> Term:
        return Leaf(before.value * 10) if isinstance(before, Leaf) else after

    top = Pair(Pair(Leaf(1), Leaf(2)), Leaf(3))
    made = tree.transform(top, grow)
    assert (made.left.left.value, made.left.right.value, made.right.value) == (10, 20, 30)
    assert top.left.left.value == 1


def test_transform_sees_the_node_before_and_after():
    leaf, other = Leaf(1), Leaf(2)
    top = Pair(leaf)
    seen = []

    def note(before: Term, after: Term) -> Term:
        seen.append((before, after))
        return other if before is leaf else after

    made = tree.transform(top, note)
    assert seen[0] == (leaf, leaf)
    assert seen[1][0] is top
    assert seen[1][1] is made
    assert made.left is other


def test_transform_that_changes_nothing_gives_the_same_object():
    top = Pair(Pair(Leaf(1), Leaf(2)), Leaf(3))
    assert tree.transform(top, lambda before, after: after) is top


def test_transform_keeps_sharing_and_what_did_not_change():
    shared, same = Pair(Leaf(1)), Pair(Leaf(5))
    top = Many(Leaf(0), (shared, same, Pair(shared, same)))
    calls = 0

    def change(before: Term, after: Term) -> Term:
        nonlocal calls
        calls += 1
        return Leaf(2) if isinstance(before, Leaf) and before.value == 1 else after

    made = tree.transform(top, change)
    assert made.rest[0] is made.rest[2].left
    assert made.rest[0] is not shared
    assert made.rest[1] is same
    assert made.rest[2].right is same
    assert calls == 7


def test_transform_does_not_enter_what_it_was_given():
    inside = Leaf(1)
    replaced, by = Pair(inside), Leaf(9)
    top = Pair(replaced, Leaf(2))
    seen = []

    def note(before: Term, after: Term) -> Term:
        seen.append(before)
        return after

    made = tree.transform(top, note, {replaced: by})
    assert made.left is by
    assert inside not in seen
    assert replaced not in seen
    assert tree.transform(replaced, note, {replaced: by}) is by


# --- depth


def test_deep_trees_are_built_walked_changed_and_dropped():
    top = chain(DEEP)
    assert sum(1 for _ in tree.postorder(top)) == DEEP + 1
    made = tree.transform(top, lambda b, a: Leaf(1) if isinstance(b, Leaf) else a)
    leaf = next(tree.postorder(made))
    assert isinstance(leaf, Leaf)
    assert leaf.value == 1
    gone = weakref.ref(made)
    del made, leaf, top
    assert gone() is None


# --- run


def total(term: Term) -> Steps[int]:
    if isinstance(term, Leaf):
        return term.value
    result = 0
    for child in tree.children(term):
        result += yield total(child)
    return result


def test_a_yield_is_a_call_and_gives_the_result():
    assert tree.run(total(Many(Leaf(1), (Pair(Leaf(2), Leaf(3)), Leaf(4))))) == 10


def test_calls_nest_without_limit():
    def depth(n: int) -> Steps[int]:
        return (yield depth(n - 1)) + 1 if n else 0

    assert tree.run(depth(DEEP)) == DEEP


def test_a_returned_generator_is_a_tail_call_in_constant_space():
    frames = []

    def loop(n: int, acc: int) -> Steps[int]:
        if n == 3:
            generators = (o for o in gc.get_objects() if type(o) is GeneratorType)
            frames.extend(g for g in generators if g.gi_code is code)
        if n:
            return loop(n - 1, acc + n)  # type: ignore[return-value]
        return acc
        yield

    code = loop(0, 0).gi_code
    assert tree.run(loop(DEEP, 0)) == DEEP * (DEEP + 1) // 2
    assert len(frames) <= 2, "the first, which the caller of `run` holds, and the present one"


def test_a_tail_call_inside_a_call_returns_to_the_caller():
    def even(n: int) -> Steps[bool]:
        return odd(n - 1) if n else True  # type: ignore[return-value]
        yield

    def odd(n: int) -> Steps[bool]:
        return even(n - 1) if n else False  # type: ignore[return-value]
        yield

    def both(n: int) -> Steps[tuple[bool, bool]]:
        return (yield even(n)), (yield odd(n))

    assert tree.run(both(1001)) == (False, True)


def test_a_computation_without_steps_gives_its_value():
    def constant() -> Steps[str]:
        return "value"
        yield

    assert tree.run(constant()) == "value"


def test_none_is_a_value():
    def nothing() -> Steps[None]:
        return None
        yield

    def ask() -> Steps[list[Any]]:
        return [(yield nothing()), (yield nothing())]

    assert tree.run(ask()) == [None, None]


# --- exceptions in run


def test_an_exception_goes_through_callers_and_runs_their_finally():
    left = []

    def fail(n: int) -> Steps[None]:
        try:
            if n == 0:
                raise KeyError("deep")
            yield fail(n - 1)
        finally:
            left.append(n)

    with pytest.raises(KeyError, match="deep"):
        tree.run(fail(5))
    assert left == [0, 1, 2, 3, 4, 5]


def test_a_caller_may_catch_and_go_on():
    def fail(n: int) -> Steps[int]:
        if n % 2:
            raise ValueError(n)
        return n
        yield

    def ask() -> Steps[list[Any]]:
        found: list[Any] = []
        for n in range(4):
            try:
                found.append((yield fail(n)))
            except ValueError as error:
                found.append(error.args)
        return found

    assert tree.run(ask()) == [0, (1,), 2, (3,)]


def test_a_caller_may_catch_and_return_at_once():
    def fail() -> Steps[int]:
        raise ValueError
        yield

    def fallback() -> Steps[str]:
        try:
            yield fail()
        except ValueError:
            return "instead"
        return "not reached"

    def ask() -> Steps[tuple[str, str]]:
        return (yield fallback()), (yield fallback())

    assert tree.run(ask()) == ("instead", "instead")


def test_an_exception_may_be_changed_on_its_way():
    def fail() -> Steps[int]:
        raise KeyError("inner")
        yield

    def wrap() -> Steps[int]:
        try:
            return (yield fail())
        except KeyError as error:
            raise relay.RelayError("outer") from error

    with pytest.raises(relay.RelayError, match="outer") as caught:
        tree.run(wrap())
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_exception_thrown_in_a_tail_call_reaches_the_caller_of_the_first():
    def fail() -> Steps[int]:
        raise ValueError
        yield

    def hop() -> Steps[int]:
        try:
            return fail()  # type: ignore[return-value]
        except ValueError:
            return 1  # its frame is gone by then
        yield

    def ask() -> Steps[str]:
        try:
            yield hop()
        except ValueError:
            return "caught"
        return "missed"

    assert tree.run(ask()) == "caught"


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


def test_interrupts_go_through_and_are_not_swallowed():
    left = []

    def wait(n: int) -> Steps[None]:
        try:
            if n == 0:
                raise Stop
            yield wait(n - 1)
        except Exception:
            left.append("swallowed")
        finally:
            left.append(n)

    with pytest.raises(Stop):
        tree.run(wait(3))
    assert left == [0, 1, 2, 3]


def test_a_stray_stop_iteration_is_an_error_and_not_a_result():
    def stray() -> Steps[int]:
        return next(iter([]))
        yield

    with pytest.raises(RuntimeError, match="StopIteration"):
        tree.run(stray())


def test_exceptions_come_from_any_depth():
    def fail(n: int) -> Steps[None]:
        if n == 0:
            raise KeyError("deep")
        yield fail(n - 1)

    with pytest.raises(KeyError, match="deep"):
        tree.run(fail(DEEP))
    with pytest.raises(KeyError, match="deep") as caught:
        tree.run(fail(1000))
    shown = traceback.format_exception(caught.value)
    assert len(shown) < 40, "repeated lines are folded"
    assert not any("throw" in line for line in shown)


def test_no_generator_stays_behind():
    created: list[weakref.ref] = []

    class Error(Exception):
        pass

    def fail(n: int) -> Steps[None]:
        if n == 0:
            error = Error()
            created.append(weakref.ref(error))
            try:
                raise error
            finally:
                del error
        below = fail(n - 1)
        created.append(weakref.ref(below))
        yield below

    gc.collect()
    gc.disable()
    try:
        with pytest.raises(Error) as caught:
            tree.run(fail(50))
        del caught
        assert not [r for r in created if r() is not None]
    finally:
        gc.enable()


def test_the_recursion_limit_is_left_alone():
    limit = sys.getrecursionlimit()
    seen: set[int] = set()

    def depth(n: int) -> Steps[None]:
        seen.add(sys.getrecursionlimit())
        if n:
            yield depth(n - 1)

    tree.run(depth(3 * limit))
    assert seen == {limit}


def test_runs_nest():
    def outer(n: int) -> Steps[int]:
        inner = tree.run(total(chain(10)))
        return (yield outer(n - 1)) + inner + 1 if n else 0

    assert tree.run(outer(1000)) == 1000


def leaves(term: Term) -> Iterator[int]:
    return (n.value for n in tree.postorder(term) if isinstance(n, Leaf))


def test_postorder_is_lazy():
    walk = leaves(Pair(Leaf(1), chain(DEEP)))
    assert next(walk) == 1
