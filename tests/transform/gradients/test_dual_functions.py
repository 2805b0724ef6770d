"""Functions on duals, and what they leave on the tape."""

from __future__ import annotations

import pytest

import relay
from relay import tree
from relay.errors import GradientError
from relay.ir import expr as ir
from relay.testing import count_ops
from relay.transform.gradients.dual_functions import Translator
from relay.transform.gradients.dual_types import TAPE, TypeTwins


def translated(body: str) -> ir.Function:
    """The function on duals of a function of x, y and n."""
    module = relay.fromtext(
        f"""#[version = "0.0.5"]
        def @main(%x: float64, %y: float64, %n: int32) {{ {body} }}"""
    )
    module = relay.transform.ToANormalForm()(module)
    return Translator(TypeTwins(module), {}).of_module(module["main"])


def steps(function: ir.Function) -> int:
    """How many functions are left on the tape."""
    nodes = tree.postorder(function.body)
    return sum(1 for node in nodes if isinstance(node, ir.Function) and not node.params)


def test_operators_that_follow_each_other_are_one_step() -> None:
    made = translated("let %a = exp(%x); let %b = %a * %y; sin(%b) + %a")
    assert made.params[0].type_annotation == TAPE
    assert steps(made) == 1
    # the result has a cell, what is used inside of the step has none
    cells = [node for node in tree.postorder(made) if isinstance(node, ir.RefCreate)]
    assert len(cells) == 1


def test_a_branch_ends_a_step() -> None:
    made = translated("let %a = exp(%x); let %b = if (%n == 0) { %a } else { sin(%a) }; %b * %y")
    assert steps(made) == 3


def test_what_has_no_gradient_leaves_nothing() -> None:
    assert steps(translated("%n + 1")) == 0
    assert steps(translated("floor(%x)")) == 0
    made = translated("2f64 * 3f64")
    assert steps(made) == 0
    assert count_ops(made)["multiply"] == 1


def test_fused_functions_are_refused() -> None:
    x = relay.var("x", "float32")
    inner = relay.var("y", "float32")
    kernel = relay.Function([inner], relay.exp(inner)).with_attr("Primitive", 1)
    module = relay.IRModule.from_expr(relay.Function([x], relay.Call(kernel, (x,))))
    module = relay.transform.ToANormalForm()(module)
    with pytest.raises(GradientError, match="before FuseOps"):
        Translator(TypeTwins(module), {}).of_module(module["main"])
