"""Watching passes: which hooks are called when, and what the built-in instruments show."""

import pytest

import relay
from relay.errors import PassError
from relay.transform import (
    FunctionPass,
    InferType,
    PassContext,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    Sequential,
    WellFormedInstrument,
    module_pass,
    pass_instrument,
)


@pytest.fixture
def module():
    x = relay.var("x", shape=(3, 4))
    return relay.IRModule.from_expr(relay.add(x, x))


def recorder(events, fail_at=None):
    """An instrument class that notes every hook, and raises in one of them."""

    def hook(name, answer=None):
        def called(self, *args):
            events.append(f"{self.name} {name}")
            if name == fail_at:
                raise RuntimeError(f"{self.name} {name}")
            return answer

        return called

    class Recorder:
        def __init__(self, name):
            self.name = name

        enter_pass_ctx = hook("enter")
        exit_pass_ctx = hook("exit")
        should_run = hook("should_run", True)
        run_before_pass = hook("before")
        run_after_pass = hook("after")
        pass_failed = hook("failed")

    return pass_instrument(Recorder)


@pytest.fixture
def events():
    return []


@pytest.fixture
def work(events):
    @module_pass
    def work(mod, ctx):
        events.append("work")
        return mod

    return work


def test_hooks_are_called_in_order(events, work, module):
    make = recorder(events)
    with PassContext(instruments=[make("1"), make("2")]):
        work(module)
    assert events == [
        "1 enter",
        "2 enter",
        "1 should_run",
        "2 should_run",
        "1 before",
        "2 before",
        "work",
        "1 after",
        "2 after",
        "1 exit",
        "2 exit",
    ]


def test_hooks_get_the_module_and_the_info(module):
    seen = []

    @pass_instrument
    class Look:
        def run_before_pass(self, mod, info):
            seen.append((mod["main"].ty, info.name))

        def run_after_pass(self, mod, info):
            seen.append((mod["main"].ty is not None, info.name))

    with PassContext(instruments=[Look()]):
        InferType()(module)
    assert seen == [(None, "InferType"), (True, "InferType")]


def test_one_instrument_that_says_no_skips_the_pass(events, work, module):
    @pass_instrument
    class Skip:
        def should_run(self, mod, info):
            return info.name != "work"

    with PassContext(instruments=[Skip()]):
        made = Sequential([work, InferType()])(module)
    assert events == [] and made["main"].ty is not None


def test_a_skipped_pass_does_not_run_what_it_requires(work, module):
    @pass_instrument
    class Skip:
        def should_run(self, mod, info):
            return info.name != "needs_types"

    @module_pass(required=["InferType"])
    def needs_types(mod, ctx):
        return mod

    with PassContext(instruments=[Skip()]):
        assert needs_types(module)["main"].ty is None


def test_a_pass_the_context_requires_runs_whatever_instruments_say(events, work, module):
    @pass_instrument
    class SkipAll:
        def should_run(self, mod, info):
            return False

    with PassContext(required_pass=["work"], instruments=[SkipAll()]):
        work(module)
    assert events == ["work"]


def test_a_hook_that_answers_nothing_does_not_skip(events, work, module):
    @pass_instrument
    class Silent:
        def should_run(self, mod, info):
            pass

    with PassContext(instruments=[Silent()]):
        work(module)
    assert events == ["work"]


# --- when something fails


def test_when_entering_fails_those_entered_are_exited_and_the_context_is_not_current(events):
    outside = PassContext.current()
    instruments = [recorder(events)("1"), recorder(events, "enter")("2"), recorder(events)("3")]
    with pytest.raises(RuntimeError, match="2 enter"), PassContext(instruments=instruments):
        pytest.fail("the context was entered")
    assert events == ["1 enter", "2 enter", "1 exit"]
    assert PassContext.current() is outside


def test_when_exiting_fails_the_others_are_exited_all_the_same(events):
    outside = PassContext.current()
    instruments = [recorder(events, "exit")(name) for name in "123"]
    with (
        pytest.raises(RuntimeError, match="1 exit") as caught,
        PassContext(instruments=instruments),
    ):
        events.clear()
    assert events == ["1 exit", "2 exit", "3 exit"]
    assert [("2 exit" in note, "3 exit" in note) for note in caught.value.__notes__] == [
        (True, False),
        (False, True),
    ]
    assert PassContext.current() is outside


def test_when_a_pass_fails_instruments_are_told_and_exited(events, module):
    @module_pass
    def fails(mod, ctx):
        events.append("work")
        raise RuntimeError("oh")

    make = recorder(events)
    with pytest.raises(RuntimeError, match="oh"), PassContext(instruments=[make("1"), make("2")]):
        fails(module)
    assert events[4:] == [
        "1 before",
        "2 before",
        "work",
        "1 failed",
        "2 failed",
        "1 exit",
        "2 exit",
    ]


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ("should_run", ["1 should_run"]),
        ("before", ["1 should_run", "2 should_run", "1 before"]),
        (
            "after",
            [
                "1 should_run",
                "2 should_run",
                "1 before",
                "2 before",
                "work",
                "1 after",
                "2 failed",
            ],
        ),
    ],
)
def test_when_a_hook_fails_all_are_exited_and_who_saw_a_beginning_sees_an_end(
    hook, expected, events, work, module
):
    make = recorder(events, hook)
    with pytest.raises(RuntimeError) as caught, PassContext(instruments=[make("1"), make("2")]):
        work(module)
    assert events == ["1 enter", "2 enter", *expected, "1 exit", "2 exit"]
    notes = " ".join(caught.value.__notes__)
    assert "Recorder." in notes and "`work`" in notes


def test_the_instruments_of_a_context_can_be_replaced(events, work, module):
    make = recorder(events)
    with PassContext(instruments=[make("1")]) as context:
        context.override_instruments([make("2")])
        work(module)
    assert [event for event in events if event.endswith("exit")] == ["1 exit", "2 exit"]
    assert "2 before" in events and "1 before" not in events


@pytest.mark.parametrize("hook", ["enter", "exit"])
def test_when_replacing_fails_no_instruments_are_left(hook, events):
    make = recorder(events, hook)
    with PassContext() as context:
        with pytest.raises(RuntimeError):
            context.override_instruments([make("1")])
            context.override_instruments([make("2")])
        assert not context.instruments


# --- making instruments


def test_a_decorated_class_can_be_extended():
    @pass_instrument()
    class First:
        """A doc."""

        def __init__(self, name):
            self.name = name

    @pass_instrument
    class Second(First):
        def __init__(self, name):
            super().__init__(name + "!")

    assert Second("a").name == "a!" and First.__doc__ == "A doc."
    with PassContext(instruments=[Second("a")]):
        pass


def test_other_things_are_no_instruments():
    with pytest.raises(relay.PassError, match="pass_instrument"):
        PassContext(instruments=[object()])
    with pytest.raises(relay.PassError, match="pass an object of it"):
        PassContext(instruments=[PrintAfterAll])
    with pytest.raises(TypeError, match="decorates a class"):
        pass_instrument(3)


# --- the built-in ones


def test_timing_shows_nested_passes_in_a_table(module, work):
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([work, Sequential([InferType()], name="inner")], name="outer")(module)
        work(module)
        lines = timing.render().splitlines()
    names = [line[: line.index("  ", len(line) - len(line.lstrip()))] for line in lines]
    assert names == ["pass", "outer", "  work", "  inner", "    InferType", "work", "total"]
    own = [float(line.split()[2]) for line in lines[1:]]
    assert sum(own[:-1]) == pytest.approx(own[-1], abs=0.01)


def test_timing_goes_on_after_a_pass_that_failed(module, work):
    @module_pass
    def fails(mod, ctx):
        raise ValueError

    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        with pytest.raises(PassError, match="pass `fails` failed: ValueError"):
            Sequential([work, fails], name="outer")(module)
        work(module)
        table = timing.render()
    assert "  fails (failed)" in table and "\nwork " in table


def test_timing_is_empty_before_and_after(module):
    timing = PassTimingInstrument()
    assert timing.render() == ""
    with PassContext(instruments=[timing]) as context:
        InferType()(module)
        assert "InferType" in timing.render()
        context.override_instruments(None)
        InferType()(module)
        assert timing.render() == ""


def test_printing_shows_the_program_around_the_named_passes(module, work, capsys):
    printing = PassPrintingInstrument(["work"], ["InferType"])
    with PassContext(instruments=[printing]):
        Sequential([work, InferType()])(module)
    out = capsys.readouterr().out
    assert out.count("Print IR") == 2
    before, after = out.split("Print IR after: InferType\n")
    assert before.startswith("Print IR before: work\n") and "add(%x, %x)" in before
    assert "/* ty=" in after and "/* ty=" not in before


def test_printing_everything(module, work, capsys):
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        work(module)
    out = capsys.readouterr().out
    assert out.index("Before Running Pass: pass name: work") < out.index("After Running Pass:")
    assert out.count("add(%x, %x)") == 2


def test_the_checking_instrument_lets_good_passes_through(module, work):
    with PassContext(instruments=[WellFormedInstrument()]):
        assert Sequential([work, InferType()])(module)["main"].ty is not None


def test_it_names_the_pass_that_broke_the_program_and_shows_both_sides(module, work):
    @module_pass
    def lose_parameters(mod, ctx):
        mod["main"] = relay.Function([], mod["main"].body)
        return mod

    y = relay.var("y", shape=())
    module["other"] = relay.Function([y], y)
    with (
        pytest.raises(relay.IllFormed) as caught,
        PassContext(instruments=[WellFormedInstrument()]),
    ):
        Sequential([work, lose_parameters])(module)
    text = str(caught.value)
    assert text.startswith("pass `lose_parameters` broke the program\n\nunbound variable `%x`")
    before, after = text.split("after `lose_parameters`:")
    assert "def @main(%x: Tensor[(3, 4), float32])" in before and "def @main()" in after
    assert "@other" not in text  # what the pass did not touch is not shown


def test_it_finds_programs_that_lost_their_types(module):
    class Mistyped(FunctionPass):
        def transform_function(self, function, module, context):
            z = relay.var("z", shape=(7,))
            return relay.Function([*function.params, z], relay.add(function.body, z))

    with (
        pytest.raises(relay.IllFormed, match="pass `Mistyped` broke the program"),
        PassContext(instruments=[WellFormedInstrument()]),
    ):
        Mistyped()(module)


def test_it_does_not_blame_a_pass_for_its_input(work):
    x = relay.var("x", shape=())
    broken = relay.IRModule({"main": relay.Function([], x)})
    with (
        pytest.raises(relay.IllFormed, match="broken before pass `work` ran"),
        PassContext(instruments=[WellFormedInstrument()]),
    ):
        work(broken)


def test_it_shows_the_beginning_of_a_long_program_only(work):
    x = relay.var("x", shape=())
    y = x
    for _ in range(1000):
        y = relay.add(y, y)
    broken = relay.IRModule({"main": relay.Function([], y)})
    with (
        pytest.raises(relay.IllFormed, match=r"… and \d+ more lines"),
        PassContext(instruments=[WellFormedInstrument()]),
    ):
        work(broken)


def test_it_checks_every_function_once(module, work, monkeypatch):
    checked = []
    monkeypatch.setattr(
        "relay.transform.instruments.check_well_formed",
        lambda mod: checked.append(sorted(v.name_hint for v in mod.functions)),
    )

    @module_pass
    def add_other(mod, ctx):
        y = relay.var("y", shape=())
        mod["other"] = relay.Function([y], y)
        return mod

    with PassContext(instruments=[WellFormedInstrument()]):
        Sequential([work, add_other, work])(work(module))
    assert [names for names in checked if names] == [["main"], ["other"]]
