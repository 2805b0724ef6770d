"""A pass for some functions only."""

import pytest

import relay
from relay.transform import ApplyPassToFunction, RemoveUnusedFunctions, function_pass, module_pass


@function_pass
def double(func, mod, ctx):
    return relay.Function(func.params, relay.add(func.body, func.body))


@pytest.fixture
def module():
    made = relay.IRModule()
    for name in ("conv_1", "conv_2", "dense"):
        x = relay.var("x", shape=())
        made[name] = relay.Function([x], x)
    return made


def doubled(module):
    return sorted(
        v.name_hint for v, f in module.functions.items() if isinstance(f.body, relay.Call)
    )


def test_only_matching_functions_are_changed(module):
    assert doubled(ApplyPassToFunction(double, "conv.*")(module)) == ["conv_1", "conv_2"]


def test_the_whole_name_must_match(module):
    assert doubled(ApplyPassToFunction(double, "conv")(module)) == []
    assert doubled(ApplyPassToFunction(double, "dense")(module)) == ["dense"]


def test_no_match_is_an_error_on_demand(module):
    assert doubled(ApplyPassToFunction(double, "pool.*")(module)) == []
    with pytest.raises(relay.PassError, match=r"'pool\.\*'; the module has `@conv_1`"):
        ApplyPassToFunction(double, "pool.*", error_if_no_function_matches_regex=True)(module)


def test_functions_the_pass_adds_come_along_when_they_are_used(module):
    @module_pass
    def outline(mod, ctx):
        for name, function in mod.functions.items():
            lifted = relay.GlobalVar(f"lifted_{name.name_hint}")
            y = relay.var("y", shape=())
            mod[lifted] = relay.Function([y], y)
            mod[name] = relay.Function(function.params, lifted(function.body))
        return mod

    made = ApplyPassToFunction(outline, "dense")(module)
    assert sorted(v.name_hint for v in made.functions) == [
        "conv_1",
        "conv_2",
        "dense",
        "lifted_dense",
    ]


def test_matching_functions_can_be_removed(module):
    remove = RemoveUnusedFunctions(["conv_1"])
    made = ApplyPassToFunction(remove, "conv.*")(module)
    assert sorted(v.name_hint for v in made.functions) == ["conv_1", "dense"]


def test_a_bad_expression_is_told_so(module):
    with pytest.raises(relay.PassError, match="bad regular expression"):
        ApplyPassToFunction(double, "(")(module)
