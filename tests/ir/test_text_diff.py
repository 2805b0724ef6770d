"""Differences of texts show what was changed, and not what got another number by that."""

import random

import relay
from relay.ir.text_diff import text_diff
from relay.testing import transformer

BEFORE = """fn (%x, %y) {
  %0 = exp(%x);
  %1 = add(%0, %y);
  %2 = nn.relu(%1);
  %3 = tanh(%2);
  negative(%3)
}"""


def applied(diff, before, after):
    """The lines that stay and come are lines of `after` in its order, those that go of `before`."""
    old, new = iter(before.splitlines()), iter(after.splitlines())
    for line in diff.splitlines():
        if line.startswith("-"):
            assert line[1:] in old
        elif not line.startswith("@@"):
            assert line[1:] in new


def test_equal_texts_have_no_difference():
    assert text_diff(BEFORE, BEFORE) == ""
    assert text_diff("", "") == ""


def test_a_line_that_is_new_does_not_touch_those_after_it():
    after = """fn (%x, %y) {
  %0 = abs(%x);
  %1 = exp(%0);
  %2 = add(%1, %y);
  %3 = nn.relu(%2);
  %4 = tanh(%3);
  negative(%4)
}"""
    assert (
        text_diff(BEFORE, after)
        == """ fn (%x, %y) {
-  %0 = exp(%x);
+  %0 = abs(%x);
+  %1 = exp(%0);
   %2 = add(%1, %y);
   %3 = nn.relu(%2);
@@ 3 lines as before @@"""
    )


def test_what_an_operand_is_a_call_of_counts():
    after = BEFORE.replace("tanh(%2)", "tanh(%1)")
    assert (
        text_diff(BEFORE, after, context=0)
        == """@@ 4 lines as before @@
-  %3 = tanh(%2);
+  %3 = tanh(%1);
@@ 2 lines as before @@"""
    )


def test_types_and_places_of_constants_do_not_count():
    one = "  %0 = add(%x, meta[relay.Constant][0]) /* ty=Tensor[(3), float32] */;"
    two = "  %0 = add(%x, meta[relay.Constant][7]);"
    assert text_diff(one, two) == ""


def test_a_text_that_comes_or_goes_is_shown_whole():
    assert text_diff("", "a\nb") == "+a\n+b"
    assert text_diff("a\nb", "") == "-a\n-b"


def test_blocks_that_change_places_are_found():
    lines = [f"  %{i} = f{i}(%x);" for i in range(30)]
    moved = lines[10:20] + lines[:10] + lines[20:]
    diff = text_diff("\n".join(lines), "\n".join(moved))
    assert sum(line.startswith("-") for line in diff.splitlines()) == 10
    applied(diff, "\n".join(lines), "\n".join(moved))


def test_random_changes_are_told_completely():
    choose = random.Random(1)
    for _ in range(50):
        lines = [f"  %{i} = f{choose.randrange(6)}(%a{choose.randrange(40)});" for i in range(60)]
        other = [line for line in lines if choose.random() < 0.9]
        for _ in range(5):
            other.insert(choose.randrange(len(other)), f"  new{choose.randrange(9)}(%x);")
        before, after = "\n".join(lines), "\n".join(other)
        diff = text_diff(before, after, context=1000).splitlines()
        kept = [line[1:] for line in diff if not line.startswith("-")]
        assert kept == other
        gone = [line[1:] for line in diff if line.startswith("-")]
        assert len(gone) == len(lines) - (len(other) - sum(d.startswith("+") for d in diff))


def test_one_change_in_a_long_text_is_one_change():
    net = relay.transform.InferType()(
        relay.IRModule.from_expr(transformer.get_net(1, 12, 8, 2, 4, 11))
    )
    before = str(net["main"])
    after = before.replace("tanh", "tan").replace("erf", "abs", 1)
    diff = text_diff(before, after, context=0).splitlines()
    assert sum(line.startswith("-") for line in diff) == 2  # it, and what uses it
