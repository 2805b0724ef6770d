"""The circumstances passes run in: levels, names, options, and which context is current."""

import threading

import pytest

import relay
from relay.transform import PassContext, PassInfo


def test_outside_of_all_contexts_the_defaults_hold():
    context = PassContext.current()
    assert context.opt_level == 2 and not context.instruments and not context.config
    assert PassContext.current() is context


def test_contexts_nest_and_the_innermost_counts():
    outside = PassContext.current()
    with PassContext(opt_level=3) as outer:
        assert PassContext.current() is outer
        with PassContext(opt_level=1) as inner:
            assert PassContext.current() is inner and inner.opt_level == 1
        assert PassContext.current() is outer
    assert PassContext.current() is outside


def test_a_context_can_be_entered_twice():
    context = PassContext()
    with context, context:
        assert PassContext.current() is context
    assert PassContext.current() is not context


def test_a_context_is_left_when_an_error_is_raised():
    outside = PassContext.current()
    with pytest.raises(ValueError), PassContext():
        raise ValueError
    assert PassContext.current() is outside


def test_threads_have_contexts_of_their_own():
    seen = []
    with PassContext(opt_level=4):
        thread = threading.Thread(target=lambda: seen.append(PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert seen == [2]


@pytest.mark.parametrize(
    ("level", "required", "disabled", "runs"),
    [
        (1, [], [], False),
        (2, [], [], True),
        (3, [], [], True),
        (0, ["p"], [], True),
        (3, [], ["p"], False),
        (3, ["p"], ["p"], False),
        (0, ["q"], [], False),
    ],
)
def test_a_pass_runs_if_not_disabled_and_required_or_of_the_level(level, required, disabled, runs):
    context = PassContext(level, required, disabled)
    assert context.enables(PassInfo(2, "p")) is runs


def test_options_are_as_given_or_their_defaults():
    context = PassContext(config={"relay.FuseOps.max_depth": 10})
    assert context.config["relay.FuseOps.max_depth"] == 10
    assert context.option("relay.FuseOps.max_depth") == 10
    assert context.option("relay.FuseOps.link_params") is False
    assert PassContext().option("relay.FuseOps.max_depth") == 256


def test_options_of_external_compilers_have_free_names():
    context = PassContext(config={"relay.ext.vendor.options": {"speed": 1}})
    assert context.option("relay.ext.vendor.options") == {"speed": 1}
    assert context.option("relay.ext.other.options") == {}


def test_a_truth_value_may_be_0_or_1():
    assert PassContext(config={"relay.FuseOps.link_params": 1}).option("relay.FuseOps.link_params")


@pytest.mark.parametrize("error", [relay.PassError, AttributeError])
def test_an_unknown_option_is_an_error_with_a_hint(error):
    with pytest.raises(error, match=r"did you mean `relay\.FuseOps\.max_depth`"):
        PassContext(config={"relay.FuseOp.max_depth": 1})
    with pytest.raises(error, match="list_configs"):
        PassContext(config={"nonsense": 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relay.FuseOps.max_depth", 10.0),
        ("relay.FuseOps.max_depth", True),
        ("relay.FuseOps.link_params", 2),
        ("relay.backend.tir_converter", 1),
        ("relay.ext.vendor.options", 1),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(name, value):
    with pytest.raises(relay.PassError, match="takes"):
        PassContext(config={name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("relay.fallback_device_type", 2),
        ("relay.backend.use_auto_scheduler", True),
        ("relay.backend.use_meta_schedule", True),
        ("relay.backend.use_meta_schedule_dispatch", 1),
        ("relay.backend.tir_converter", "allow_extern"),
        ("relay.collage.tvm_max_depth", 4),
        ("relay.collage.byoc_max_depth", 0),
        ("relay.collage.byoc_fusion_style", ()),
    ],
)
def test_an_option_that_nothing_reads_is_refused(name, value):
    with pytest.raises(relay.PassError, match=name):
        PassContext(config={name: value})


def test_options_that_nothing_reads_may_be_given_their_default():
    assert PassContext(config={"relay.backend.use_auto_scheduler": False})


def test_options_are_listed_with_type_default_and_meaning():
    configs = PassContext.list_configs()
    assert configs["relay.FuseOps.max_depth"]["type"] == "int"
    assert configs["relay.FuseOps.max_depth"]["default"] == 256
    assert all(entry["doc"] for entry in configs.values())


def test_a_name_in_the_place_of_names_is_told_so():
    with pytest.raises(relay.PassError, match=r"write \['FuseOps'\]"):
        PassContext(disabled_pass="FuseOps")
    with pytest.raises(relay.PassError, match="found 1 in it"):
        PassContext(required_pass=[1])


def test_the_text_of_a_context_shows_what_differs():
    assert "disabled_pass=['FuseOps']" in repr(PassContext(disabled_pass=["FuseOps"]))
