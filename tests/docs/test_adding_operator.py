"""The programs on the page about operators run, and no pass needs to know the operator it adds."""

import re
from pathlib import Path

import numpy as np
import pytest

import relay
from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.op.facts import Trait
from relay.op.gradient_rules import Backward
from relay.op.opdef import FusionKind, define, temporary_operators
from relay.transform import (
    BackwardFoldScaleAxis,
    ConvertLayout,
    FuseOps,
    InferType,
    ToMixedPrecision,
)

PAGE = (Path(__file__).parents[2] / "docs/adding/operator.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def scale():
    """The operator that the page adds."""
    with temporary_operators():
        names = {}
        exec(compile(PROGRAMS[0], "operator.md", "exec"), names)
        yield names["scale"]


def parse(body, *params):
    types = ", ".join(f"%{name}: Tensor[{shape}, float32]" for name, shape in params)
    return InferType()(relay.parse(f"def @main({types}) {{ {body} }}"))


def names_of(module):
    nodes = relay.tree.postorder(module["main"])
    return [node.op.name for node in nodes if isinstance(getattr(node, "op", None), relay.Op)]


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def test_it_parses_prints_and_runs_everywhere(scale):
    module = parse("my.scale(nn.relu(%x), factor=0.5f)", ("x", (2, 3)))
    assert relay.parse(module.astext())["main"].body.attrs.factor == 0.5
    x = numbers(2, 3)
    expected = np.maximum(x, 0) * 0.5
    for kind in ("debug", "vm"):
        run = relay.create_executor(kind, module).evaluate()
        np.testing.assert_allclose(run(x).numpy(), expected)
    np.testing.assert_allclose(relay.compile(module)(x), expected)


def test_it_joins_the_kernel_of_a_product(scale):
    module = parse("my.scale(nn.dense(%x, %w), factor=2f)", ("x", (2, 3)), ("w", (4, 3)))
    fused = FuseOps()(module)["main"].body
    assert isinstance(fused, relay.Call) and isinstance(fused.op, relay.Function)
    (kernel,) = relay.compile(module).program.kernels
    assert kernel.operators == ("nn.dense", "my.scale")
    x, w = numbers(2, 3), numbers(4, 3)
    np.testing.assert_allclose(relay.compile(module)(x, w), 2 * x @ w.T, rtol=1e-5)


def test_it_follows_narrow_floats_without_a_warning(scale, recwarn):
    module = parse("my.scale(nn.dense(%x, %w))", ("x", (2, 3)), ("w", (4, 3)))
    assert ToMixedPrecision()(module)["main"].ret_type.dtype == "float16"
    assert not recwarn.list


def test_it_follows_a_layout(scale):
    body = "%0 = my.scale(nn.conv2d(%x, %w)); nn.conv2d(%0, %w)"
    module = parse(body, ("x", (1, 3, 8, 8)), ("w", (3, 3, 1, 1)))
    names = names_of(ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(module))
    # of data going in, of data coming out, and of the weights
    assert names.count("layout_transform") == 3


def test_a_scale_goes_through_it_into_weights(scale):
    x = relay.var("x", shape=(2, 3))
    product = scale(relay.nn.dense(x, relay.const(numbers(4, 3))), factor=0.5)
    function = relay.Function([x], product * relay.const(3.0))
    module = InferType()(relay.IRModule.from_expr(function))
    assert BackwardFoldScaleAxis()(module)["main"].body.op is scale


def test_a_reduction_may_have_attributes_of_its_own():
    @attrs
    class RowsAttrs(Attrs):
        kept: int = 1

    def element(data, out):
        k = te.axis(data.shape[1])
        return te.compute(out.shape, lambda i: te.sum(data[i, k], k))

    with temporary_operators():
        total = define(
            "my.rows",
            doc="The sum of each row.",
            arguments=[("data", "a matrix")],
            attrs=RowsAttrs,
            relation=lambda site: relay.TensorType(site.tensor(0).shape[:1], "float32"),
            reference=lambda data, kept: data.sum(1),
            compute=lambda data, out, kept: element(data, out),
            fusion=FusionKind.COMM_REDUCE,
            traits=Trait.LINEAR | Trait.AVERAGES,
        )
        x = relay.var("x", shape=(2, 3))
        body = relay.exp(total(relay.nn.relu(x) * relay.const(2.0)))
        exe = relay.compile(relay.IRModule.from_expr(relay.Function([x], body)))
        expected = np.exp(2 * np.maximum(numbers(2, 3), 0).sum(1))
        np.testing.assert_allclose(exe(numbers(2, 3)), expected, rtol=1e-5)


def test_its_gradient_is_its_own(scale):
    x, g = relay.var("x", shape=(2,)), relay.var("g", shape=(2,))
    call = scale(x, factor=3.0)
    (by_x,) = scale.gradient(Backward(call, call, (g,), lambda e: e.type_annotation))
    assert by_x.op is scale and by_x.args[0] is g and by_x.attrs.factor == 3.0


def test_the_computes_shown_give_what_the_page_says():
    section = re.search(r"## The compute\n(.*?)\n## ", PAGE, re.DOTALL)[1]
    programs = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(programs) == 2 and all("assert " in program for program in programs)
    names = {}
    for program in programs:
        exec(compile(program, "operator.md", "exec"), names)
