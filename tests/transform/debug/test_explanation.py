"""Passes explain themselves: what each changed, and why kernels end where they do."""

import pytest

import relay
from relay import transform
from relay.errors import PassError
from relay.pipeline import passes
from relay.testing import mlp
from relay.transform import Explanation, PassContext, explain

PROGRAM = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32]) {
  %0 = exp(%x);
  %1 = exp(%x);
  %2 = add(%0, %1);
  nn.relu(%2)
}
def @unused(%x: float32) { %x }
"""


@pytest.fixture
def module():
    return transform.InferType()(relay.parse(PROGRAM))


def test_a_pass_tells_what_it_changed(module):
    story = explain(module, transform.EliminateCommonSubexpr())
    (change,) = story["EliminateCommonSubexpr"].changes
    assert change.name == "main"
    assert change.operators == {"exp": (2, 1)}
    assert change.diff.splitlines()[1:-1] == [
        "   %0 = exp(%x) /* ty=Tensor[(3), float32] */;",
        "-  %1 = exp(%x) /* ty=Tensor[(3), float32] */;",
        "   %1 = add(%0, %0) /* ty=Tensor[(3), float32] */;",
        "   nn.relu(%1) /* ty=Tensor[(3), float32] */",
    ]
    assert str(change) == "@main: exp 2 -> 1"


def test_functions_come_and_go(module):
    story = explain(module, transform.RemoveUnusedFunctions())
    (change,) = story["RemoveUnusedFunctions"].changes
    assert str(change) == "@unused is gone"
    assert change.diff.splitlines()[0].startswith("-fn (%x: float32)")


def test_a_pass_that_changes_nothing_says_so(module):
    story = explain(module, transform.FoldConstant())
    assert not story["FoldConstant"].changes
    assert "FoldConstant" in str(story)
    assert str(story).endswith("changed nothing")


def test_passes_inside_others_are_told_once(module):
    story = explain(module, passes(2))
    (outer,) = story.steps
    assert not outer.changes
    assert [s.name for s in outer.inner if s.changes] == [
        "RemoveUnusedFunctions",
        "EliminateCommonSubexpr",
        "FuseOps",
    ]
    assert all(step.depth == 1 for step in outer.inner)
    assert outer.seconds >= sum(step.seconds for step in outer.inner)


def test_options_are_told():
    story = explain(relay.parse(PROGRAM), transform.DeadCodeElimination(inline_once=True))
    assert "DeadCodeElimination(inline_once=True)  " in str(story)


def test_every_kernel_tells_why_it_ends(module):
    fused = explain(module, transform.FuseOps(fuse_opt_level=2))["FuseOps"].fusion
    assert [group.operators for group in fused if group.function == "main"] == [
        ("exp", "exp", "add", "nn.relu")
    ]
    alone = explain(module, transform.FuseOps(fuse_opt_level=0))["FuseOps"].fusion
    assert sum(group.function == "main" for group in alone) == 4
    assert all(str(group.boundary) for group in alone)


def test_compilation_is_explained_as_well():
    module, params = mlp.get_workload(1, image_shape=(1, 4, 4))
    with Explanation() as story:
        relay.compile(module, params, level=3)
    text = str(story)
    assert "LiftWeights" in text
    assert "kernels, and why they end there:" in text
    assert "nn.dense" in text


def test_it_is_an_instrument_among_others(module):
    timing, story = transform.PassTimingInstrument(), Explanation()
    with PassContext(opt_level=3, instruments=[timing, story]):
        passes(2)(module)
        assert [entry.name for entry in timing.passes] == [step.name for step in story.steps]
    assert story.steps, "what it knows stays"


def test_entered_by_itself_it_keeps_the_circumstances(module):
    timing = transform.PassTimingInstrument()
    with (
        PassContext(opt_level=1, disabled_pass=["FoldConstant"], instruments=[timing]),
        Explanation() as story,
    ):
        assert PassContext.current().opt_level == 1
        transform.Sequential([transform.FoldConstant(), transform.InferType()])(module)
        assert timing.passes
    assert [step.name for step in story] == ["sequential", "InferType"]
    assert PassContext.current().instruments != (timing, story)


def test_a_pass_that_fails_is_told_as_such(module):
    @transform.module_pass(opt_level=0, name="Broken")
    def broken(mod, context):
        raise PassError("it is")

    with pytest.raises(PassError, match="it is"), Explanation() as story:
        broken(module)
    assert story["Broken"].failed
    assert "failed" in str(story)


def test_long_differences_are_cut(module):
    step = explain(module, transform.FuseOps(fuse_opt_level=2))["FuseOps"]
    assert "more lines" in step.render(lines=3)
    assert "more lines" not in step.render(lines=300)


def test_a_pass_that_did_not_run_is_named(module):
    story = explain(module, transform.FoldConstant())
    with pytest.raises(PassError, match="pass `FoldConstants` did not run; did you mean"):
        story["FoldConstants"]
