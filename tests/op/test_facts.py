"""What records state about operators holds for the references, at all samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from relay import dtypes
from relay.ir.expr import op_names
from relay.op.building.numerics import limits
from relay.op.facts import Precision, Sign, Trait
from relay.op.opdef import FusionKind, OpDef, Sample, get

OPERATORS = [get(name) for name in op_names()]


def with_trait(trait: Trait) -> list[OpDef]:
    return [op for op in OPERATORS if trait in op.traits]


def uses(op: OpDef) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], Sample]]:
    for sample in op.samples:
        known = op.make_attrs(dict(sample.attrs))
        yield sample.values(), {} if known is None else dict(known.items()), sample


def run(op: OpDef, *args: Any, **attrs: Any) -> Any:
    assert op.reference is not None
    return op.reference(*args, **attrs)


def wide(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, np.float64)


def is_float(array: np.ndarray) -> bool:
    return dtypes.is_float(dtypes.canonical(array.dtype))


def elements(argument: Any) -> np.ndarray:
    parts = argument if isinstance(argument, tuple) else (argument,)
    return np.concatenate([wide(part).reshape(-1) for part in parts])


@pytest.mark.parametrize("trait", [Trait.MOVES, Trait.CHOOSES], ids=str)
def test_operators_that_move_or_choose_elements_compute_none(trait):
    for op in with_trait(trait):
        for args, attrs, sample in uses(op):
            if not elements(args[0]).size:
                continue  # the maximum of nothing is no element
            result = run(op, *args, **attrs)
            found, given = set(elements(result).tolist()), set(elements(args[0]).tolist())
            if trait is Trait.CHOOSES:
                given |= set(limits(result.dtype))  # of a window without elements
            assert found <= given, f"{op.name} of {sample} makes {found - given}"


def test_operators_that_move_elements_do_not_look_at_them():
    for op in with_trait(Trait.MOVES):
        for args, attrs, sample in uses(op):
            first, *others = args
            places = first if isinstance(first, tuple) else (first,)
            count = sum(part.size for part in places)
            numbers = np.split(np.arange(count), np.cumsum([part.size for part in places])[:-1])
            where = tuple(n.reshape(p.shape) for n, p in zip(numbers, places, strict=True))
            moved = run(op, where if isinstance(first, tuple) else where[0], *others, **attrs)
            expected = elements(first)[moved.reshape(-1)]
            result = elements(run(op, *args, **attrs))
            np.testing.assert_array_equal(result, expected, f"{op.name} of {sample}")


def test_operators_that_reshape_keep_the_order_and_have_one_argument():
    for op in with_trait(Trait.RESHAPES):
        assert len(op.arguments) == 1 and not op.variadic, op.name
        for args, attrs, sample in uses(op):
            result = run(op, *args, **attrs)
            np.testing.assert_array_equal(elements(result), elements(args[0]), f"{sample}")


@pytest.mark.parametrize(
    ("trait", "factors"), [(Trait.LINEAR, (2.0, -4.0)), (Trait.HOMOGENEOUS, (2.0, 0.5))], ids=str
)
def test_scales_go_through_linear_and_homogeneous_operators(trait, factors):
    for op in with_trait(trait):
        for (first, *others), attrs, _ in uses(op):
            if not is_float(first):
                continue
            result = wide(run(op, first, *others, **attrs))
            for factor in factors:
                scaled = run(op, first * first.dtype.type(factor), *others, **attrs)
                np.testing.assert_allclose(
                    wide(scaled), factor * result, 1e-2, 1e-2, err_msg=op.name
                )


def test_operands_of_commutative_operators_may_be_exchanged():
    for op in with_trait(Trait.COMMUTATIVE):
        for (left, right), attrs, _ in uses(op):
            there, back = run(op, left, right, **attrs), run(op, right, left, **attrs)
            np.testing.assert_array_equal(there, back, op.name)


def test_operators_that_undo_or_repeat_themselves():
    for op in with_trait(Trait.IDEMPOTENT):
        for (data, *others), attrs, _ in uses(op):
            once = run(op, data, *others, **attrs)
            np.testing.assert_array_equal(run(op, once, *others, **attrs), once, op.name)
    for op in with_trait(Trait.INVOLUTION):
        for (data,), attrs, _ in uses(op):
            np.testing.assert_array_equal(run(op, run(op, data, **attrs), **attrs), data, op.name)
    for op in with_trait(Trait.ROUNDS):
        data = np.arange(-3, 4)
        np.testing.assert_array_equal(run(op, data), data, op.name)


def sign_of(array: np.ndarray) -> Sign:
    if not array.size:
        return Sign.UNKNOWN
    return Sign(2 * bool((array > 0).all()) or 1 * bool((array >= 0).all()))


def test_signs_follow_from_signs():
    for op in OPERATORS:
        if op.sign is None:
            continue
        for args, attrs, sample in uses(op):
            if not all(is_float(arg) for arg in args):
                continue
            known = op.make_attrs(dict(sample.attrs))
            # positive arguments, and those that may be anything
            for given in (args, tuple(np.abs(arg) for arg in args)):
                found = wide(run(op, *given, **attrs))
                if not np.isfinite(found).all() or not found.size:
                    continue
                claimed = op.sign([sign_of(wide(arg)) for arg in given], known)
                assert sign_of(found) >= claimed, f"{op.name} of {sample} is {sign_of(found)}"


def test_every_operator_has_a_class_of_precision():
    assert all(op.precision is not None for op in OPERATORS)
    narrow = {op.name for op in OPERATORS if op.precision is not Precision.NEVER}
    assert {"nn.conv2d", "nn.relu", "reshape"} <= narrow
    assert not narrow & {"exp", "sum", "nn.softmax", "cast"}


def test_only_operators_that_fuse_say_what_an_element_costs():
    for op in OPERATORS:
        assert op.cost >= 1
        assert op.cost == 1 or op.fusion <= FusionKind.BROADCAST, op.name
