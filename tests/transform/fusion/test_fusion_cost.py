"""What a kernel costs: bytes and steps, by a formula."""

import pytest

import relay
from relay.op.facts import EXPENSIVE
from relay.transform.fusion.fusion_cost import (
    BYTE,
    CACHE,
    CALL,
    FEW_ROWS,
    SERIAL,
    TILE,
    UNKNOWN,
    Cost,
    bytes_of,
    cost_of,
    refusal,
    steps_of,
)
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_rows import Rows, lay_out

HEADER = '#[version = "0.0.5"]\n'
PARAMS = "%x: Tensor[(64, 32), float32], %g: Tensor[(32), float32]"


def dataflow(body, params=PARAMS, head="@main"):
    return Dataflow(relay.parse(f"{HEADER}def {head}({params}) {{ {body} }}")["main"])


def cost(body, params=PARAMS):
    flow = dataflow(body, params)
    return cost_of(flow, range(len(flow.nodes)))


ELEMENTS, ROWS = 64 * 32, 64


def test_bytes_are_those_of_what_comes_in_once_and_of_the_result():
    assert cost("add(%x, %x)").bytes == 2 * 4 * ELEMENTS
    assert cost("add(multiply(%x, %g), %g)").bytes == 4 * (2 * ELEMENTS + 32)
    assert cost("sum(%x, axis=[1])").bytes == 4 * (ELEMENTS + ROWS)
    assert cost('cast(%x, dtype="int8")').bytes == 5 * ELEMENTS


def test_steps_are_those_of_every_element():
    assert cost("add(%x, %x)").steps == ELEMENTS
    assert cost("add(exp(%x), %g)").steps == (1 + EXPENSIVE) * ELEMENTS
    # a reduction goes through what it reduces, and a result for each row is little
    assert cost("sqrt(sum(multiply(%x, %x), axis=[1]))").steps == 2 * ELEMENTS + EXPENSIVE * ROWS


def test_what_is_cheap_is_computed_again_for_every_reader():
    #  subtract for the sum and for the quotient
    body = "%0 = subtract(%x, %g); multiply(%0, sum(%0, axis=[1], keepdims=True))"
    assert cost(body).steps == 2 * ELEMENTS + ELEMENTS + ELEMENTS
    assert cost(body).kept == 4 * ROWS


def test_what_is_expensive_is_kept():
    body = "%0 = exp(%x); multiply(%0, sum(%0, axis=[1], keepdims=True))"
    assert cost(body).steps == EXPENSIVE * ELEMENTS + ELEMENTS + ELEMENTS
    assert cost(body).kept == 4 * (ROWS + ELEMENTS)


def test_the_time_is_that_of_bytes_or_of_steps_and_of_the_call():
    assert Cost(1000, 10, 0, False).time == CALL + 1000 * BYTE
    assert Cost(10, 1000, 0, False).time == CALL + 1000


def test_sizes_that_a_run_finds_are_taken_for_large():
    flow = dataflow("exp(%x)", "%x: Tensor[(n, 4), float32]", "@main[n: Shape]")
    assert bytes_of(flow.nodes[0].expr) == UNKNOWN * 4 * 4


def test_steps_are_of_operators_only():
    assert steps_of(relay.var("x", shape=(4,))) == 0


# --- when one kernel is better -------------------------------------------------------------------


def rows(count, passes=2, crosswise=False):
    return Rows((count,), crosswise, passes, frozenset())


PARTS = (Cost(1000, 0, 0, True), Cost(1000, 0, 0, False))


def test_less_traffic_is_better():
    assert refusal(rows(64), PARTS, Cost(1500, 0, 0, True)) is None


def test_more_computation_than_the_traffic_is_worth_is_worse():
    joined = Cost(1500, 2 * CALL + 8000 + 1, 0, True)
    assert refusal(rows(64), PARTS, joined) == (
        "one kernel would take 32577 steps, those apart take 24384: it moves 1500 bytes instead of "
        "2000, and computes 24385 steps instead of 0"
    )
    assert refusal(rows(64), PARTS, Cost(1500, CALL + 8000, 0, True)) is None


def test_rows_must_stay_in_the_cache_from_one_pass_to_the_next():
    fits, large = Cost(64 * CACHE, 0, 0, True), Cost(64 * CACHE, 0, 64, True)
    parts = (Cost(64 * CACHE, 0, 0, True), Cost(64 * CACHE, 0, 0, False))
    assert refusal(rows(64), parts, fits) is None
    assert refusal(rows(64), parts, large) == (
        f"a row has {CACHE + 1} bytes, and {CACHE} stay in the cache for the next pass"
    )
    assert refusal(rows(64, passes=1), parts, large) is None
    assert "64 rows that are read together" in (
        refusal(rows(128, crosswise=True), parts, fits) or ""
    )
    assert TILE == 64


def test_rows_that_lie_crosswise_take_longer_to_read():
    parts = (Cost(100_000, 0, 0, True), Cost(200_000, 0, 0, False))
    assert refusal(rows(1000), parts, Cost(200_000, 0, 0, True)) is None
    strided = Cost(200_000, 0, 0, True, strided=True)
    assert refusal(rows(1000, crosswise=True), parts, strided) == (
        "one kernel would take 1288192 steps, those apart take 1216384: it moves 200000 bytes "
        "instead of 300000, and computes 0 steps instead of 0"
    )
    for body, expected in (
        ("subtract(%x, mean(%x, axis=[0]))", True),
        ("mean(%x, axis=[0])", False),
        ("subtract(%x, mean(%x, axis=[1], keepdims=True))", False),
    ):
        flow = dataflow(body)
        members = range(len(flow.nodes))
        assert cost_of(flow, members, lay_out(flow, members)).strided is expected


@pytest.mark.parametrize("count", [1, FEW_ROWS - 1, FEW_ROWS])
def test_few_rows_are_too_little_for_threads(count):
    joined = Cost(1000, SERIAL + 101, 0, True)
    parts = (Cost(1000, 100, 0, True), Cost(1000, SERIAL + 1, 0, False))
    found = refusal(rows(count), parts, joined)
    assert (found is None) == (count >= FEW_ROWS)
    # what reduces is shared out by rows anyway
    assert refusal(rows(count), (Cost(1000, SERIAL + 101, 0, True), PARTS[1]), joined) is None
