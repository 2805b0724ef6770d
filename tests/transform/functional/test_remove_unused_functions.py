"""Functions nobody reaches are dropped."""

import pytest

import relay
from relay.transform import PassContext, RemoveUnusedFunctions, Sequential

SOURCE = """
#[version = "0.0.5"]
def @main(%x: int32) -> int32 { @even(%x) }
def @even(%x: int32) -> int32 { if (%x == 0) { 1 } else { @odd(%x - 1) } }
def @odd(%x: int32) -> int32 { if (%x == 0) { 0 } else { @even(%x - 1) } }
def @loop(%x: int32) -> int32 { @loop(@main(%x)) }
def @alone(%x: int32) -> int32 { %x }
""".strip()


@pytest.fixture
def module():
    return relay.parse(SOURCE)


def names(module):
    return sorted(v.name_hint for v in module.functions)


def test_what_main_reaches_stays(module):
    assert names(RemoveUnusedFunctions()(module)) == ["even", "main", "odd"]
    assert len(names(module)) == 5


def test_entries_can_be_given(module):
    assert names(RemoveUnusedFunctions(["alone"])(module)) == ["alone"]
    assert names(RemoveUnusedFunctions(entry_functions=["odd", "alone"])(module)) == [
        "alone",
        "even",
        "odd",
    ]
    assert RemoveUnusedFunctions("main") == RemoveUnusedFunctions(None)


def test_nothing_is_dropped_when_everything_is_reached(module):
    made = RemoveUnusedFunctions(["loop", "alone"])(module)
    assert names(made) == names(module)


def test_an_entry_that_is_not_there_is_an_error(module):
    with pytest.raises(relay.RelayError, match="did you mean `main`"):
        RemoveUnusedFunctions(["maine"])(module)


def test_it_runs_from_level_1_on(module):
    with PassContext(opt_level=0):
        assert len(names(Sequential([RemoveUnusedFunctions()])(module))) == 5
