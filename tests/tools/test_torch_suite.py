"""torch's operator database: what is not excluded with a reason agrees with eager torch."""

import os
import re
import time

import pytest

from tools.torch_samples import entries
from tools.torch_suite import (
    MAIN,
    OTHERS,
    Effort,
    Outcome,
    excluded,
    exclusions,
    names,
    outcomes,
    record,
    recorded,
    run,
)

FIXED = "add,nn.functional.relu,nn.functional.linear"
ONE = Effort(main=3, native=1, other=0)
PARTS = 20


def failures(found):
    return [f"{one.name}: {'; '.join(one.wrong)}" for one in found if one.wrong]


def test_some_samples_of_common_operators_agree():
    assert failures(run(name, ONE) for name in names(FIXED)) == []


@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
def test_all_entries_agree(part):
    chosen = [name for name in names() if excluded(name) is None]
    assert failures(run(name, Effort()) for name in chosen[part::PARTS]) == []


def test_every_core_operator_has_an_entry():
    import torch

    packets = {
        schema.name.removeprefix("aten::")
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("aten::")
        and torch.Tag.core in getattr(_overload(schema), "tags", ())
    }
    known = entries()
    tested = {name.removeprefix("core.") for name in known}
    tested |= {name.rpartition(".")[2] for name in known}
    tested |= {getattr(one, "aten_name", None) or one.name for one in known.values()}
    assert len(packets) > 150
    assert packets - tested == set()


def _overload(schema):
    import torch

    packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::"))
    return getattr(packet, schema.overload_name or "default", None)


def test_everything_that_is_excluded_is_there_and_has_a_reason():
    full = [
        text for name in names() for text in (name, *(f"{name} {one}" for one in (*MAIN, *OTHERS)))
    ]
    for pattern, reason in exclusions().items():
        assert reason
        assert any(re.search(pattern, one) for one in full), pattern


def test_a_crash_or_an_endless_loop_is_a_failure_of_its_entry():
    effort = Effort(seconds=2)
    found = {one.name: one.wrong for one in outcomes(["crash", "hang", "good"], effort, 1, fake)}
    assert found == {
        "crash": ["the process ended with 7"],
        "hang": ["more than 2 s"],
        "good": [],
    }


def test_outcomes_are_read_from_the_file_they_were_written_to(tmp_path):
    found = [Outcome("add", passed=3), Outcome("mul", ["wrong"], not_run=["float32 sample 1: why"])]
    record(tmp_path / "found.json", found)
    assert recorded(tmp_path / "found.json") == found
    assert recorded(tmp_path / "none.json") == []


def fake(name: str, effort: Effort) -> Outcome:
    if name == "crash":
        os._exit(7)
    if name == "hang":
        time.sleep(1000)
    return Outcome(name)
