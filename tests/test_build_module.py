"""`relay.build`: what it accepts, and what it refuses."""

import pytest

import relay
from relay.errors import RelayError


def program() -> relay.Function:
    x = relay.var("x", shape=(2,), dtype="float32")
    return relay.Function([x], relay.exp(x))


def test_what_changes_nothing_is_accepted():
    lib = relay.build(program(), "llvm", target_host="llvm", executor="graph", runtime="cpp")
    assert lib.executable.code.target == relay.build(program(), "llvm").executable.code.target


@pytest.mark.parametrize(
    "given",
    [
        {"executor": "aot"},
        {"runtime": "crt"},
        {"workspace_memory_pools": ["sram"]},
        {"constant_memory_pools": ["flash"]},
    ],
    ids=str,
)
def test_an_argument_without_effect_is_refused_by_name(given):
    (name,) = given
    with pytest.raises(RelayError, match=name):
        relay.build(program(), **given)


@pytest.mark.parametrize("build", [relay.build, relay.vm.compile, relay.vm.VMCompiler().lower])
def test_a_host_of_another_kind_is_refused(build):
    with pytest.raises(RelayError, match="machines of one kind"):
        build(program(), target="llvm", target_host="llvm -mtriple=aarch64-apple-darwin")
