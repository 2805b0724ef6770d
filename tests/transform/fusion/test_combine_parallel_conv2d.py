"""Convolutions of one input become one convolution."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops
from relay.transform import (
    CombineParallelConv2D,
    InferType,
    PassContext,
    Sequential,
    SimplifyInference,
)

HEADER = '#[version = "0.0.5"]\n'


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def main(params, body):
    """A program in which all parameters but `%x` and `%y` are weights."""
    names = [part.split(":")[0].strip().lstrip("%") for part in params.split(", %")]
    weights = ", ".join(f'"{name}"' for name in names if name not in ("x", "y"))
    return f"def @main({params}, Weights=[{weights}]) {{ {body} }}"


def assert_same_meaning(before, after):
    rng = np.random.default_rng(0)
    given = [rng.normal(size=p.checked_type.concrete_shape) for p in before["main"].params]
    results = [relay.create_executor("debug", m).evaluate()(*given) for m in (before, after)]
    fields = [getattr(result, "fields", [result]) for result in results]
    for one, other in zip(*fields, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-9, atol=1e-11)


def assert_stays(source):
    before = parse(source)
    assert CombineParallelConv2D()(before)["main"] is before["main"]


def t(*shape):
    return f"Tensor[({', '.join(map(str, shape))}), float64]"


PARAMS = (
    f"%x: {t(1, 4, 5, 5)}, %a: {t(3, 4, 1, 1)}, %b: {t(2, 4, 1, 1)}, %c: {t(6, 4, 1, 1)}, "
    f"%p: {t(3, 1, 1)}, %q: {t(2, 1, 1)}, %r: {t(6, 1, 1)}"
)


def test_weights_and_what_is_added_lie_side_by_side():
    before = parse(
        main(
            PARAMS,
            """
            (
              nn.relu(nn.conv2d(%x, %a, channels=3) + %p),
              nn.relu(nn.conv2d(%x, %b, channels=2, kernel_size=[1, 1]) + %q),
              tanh(nn.conv2d(%x, %c) + %r)
            )
            """,
        )
    )
    after = CombineParallelConv2D()(before)
    expected = main(
        PARAMS,
        """
        %0 = nn.conv2d(%x, concatenate((%a, %b, %c)), channels=11);
        %1 = %0 + concatenate((%p, %q, %r));
        (
          nn.relu(strided_slice(%1, begin=[0], end=[3], axes=[1])),
          nn.relu(strided_slice(%1, begin=[3], end=[5], axes=[1])),
          tanh(strided_slice(%1, begin=[5], end=[11], axes=[1]))
        )
        """,
    )
    assert_structural_equal(after, parse(expected))
    assert CombineParallelConv2D()(after)["main"] is after["main"]
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    ("data", "kernel"), [("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "OHWI"), ("NCHW", "HWIO")]
)
def test_layouts(data, kernel):
    extents = {"N": 2, "C": 4, "H": 5, "W": 6, "I": 4}
    image = t(*map(extents.get, data))
    params, branches = f"%x: {image}", []
    for name, count in zip("abc", (3, 1, 8), strict=True):
        weight = t(*(count if c == "O" else 4 if c == "I" else 3 for c in kernel))
        bias = t(*(count if c == "C" else 1 for c in data[1:]))
        params += f", %{name}: {weight}, %{name}1: {bias}"
        attrs = f'data_layout="{data}", kernel_layout="{kernel}", padding=[1, 1, 1, 1]'
        branches.append(f"nn.leaky_relu(nn.conv2d(%x, %{name}, {attrs}) * %{name}1)")
    before = parse(main(params, f"({', '.join(branches)})"))
    after = CombineParallelConv2D()(before)
    counts = count_ops(after["main"])
    assert counts["nn.conv2d"] == counts["nn.leaky_relu"] == counts["multiply"] == 1
    assert_same_meaning(before, after)


def test_normalization_behind_convolutions_joins():
    params, branches = f"%x: {t(1, 4, 5, 5)}", []
    for name, count in zip("abc", (3, 2, 6), strict=True):
        params += f", %{name}: {t(count, 4, 3, 3)}"
        vectors = [f"%{name}{i}" for i in range(4)]
        params += "".join(f", {v}: {t(count)}" for v in vectors)
        gamma, beta, mean, variance = vectors
        norm = f"nn.batch_norm(nn.conv2d(%x, %{name}), {gamma}, {beta}, {mean}, exp({variance}))"
        branches.append(f"nn.relu({norm}.0)")
    before = SimplifyInference()(parse(main(params, f"({', '.join(branches)})")))
    after = CombineParallelConv2D()(before)
    assert [e.op.name for e in after["main"].body.fields] == ["strided_slice"] * 3
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    "third",
    [
        "nn.conv2d(%x, %c, strides=[2, 2])",
        "nn.conv2d(%x, %c, padding=[1, 1, 1, 1])",
        "nn.conv2d(nn.relu(%x), %c)",
        "nn.conv2d(%x, %y)",
        "nn.conv2d(%x, %a)",
        "nn.conv2d(%x, nn.pad(%c, 0f64, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]))",
        "nn.conv2d(%x, strided_slice(%c, begin=[0, 0], end=[6, 2]), groups=2)",
        'nn.conv2d(%x, transpose(%c, axes=[2, 3, 1, 0]), kernel_layout="HWIO")',
        'nn.conv2d(%x, %c, out_layout="NHWC")',
    ],
)
def test_convolutions_that_differ_stay(third):
    params = f"%y: {t(6, 4, 1, 1)}, {PARAMS}"
    assert_stays(main(params, f"(nn.conv2d(%x, %a), nn.conv2d(%x, %b), {third})"))


def test_grouped_and_blocked_convolutions_stay():
    params = f"%x: {t(1, 4, 5, 5)}, " + ", ".join(f"%{w}: {t(4, 1, 1, 1)}" for w in "abc")
    convs = [f"nn.conv2d(%x, %{w}, groups=4)" for w in "abc"]
    assert_stays(main(params, f"({', '.join(convs)})"))
    params = f"%x: {t(1, 1, 5, 5, 4)}, " + ", ".join(f"%{w}: {t(4, 4, 1, 1)}" for w in "abc")
    convs = [f'nn.conv2d(%x, %{w}, data_layout="NCHW4c")' for w in "abc"]
    assert_stays(main(params, f"({', '.join(convs)})"))


def test_what_is_in_a_branch_is_not_computed_outside():
    assert_stays(
        main(
            PARAMS,
            """
            %0 = nn.conv2d(%x, %c);
            if (sum(%x) > 0f64) { (nn.conv2d(%x, %a), nn.conv2d(%x, %b)) } else {
              (strided_slice(%0, begin=[0, 0], end=[1, 3]),
               strided_slice(%0, begin=[0, 0], end=[1, 2]))
            }
            """,
        )
    )


def test_groups_of_one_function_do_not_mix():
    y = f"%y: {t(1, 4, 5, 5)}"
    weights = ", ".join(f"%{w}{i}: {t(2, 4, 1, 1)}" for w in "ab" for i in range(3))
    convs = [f"nn.conv2d(%{d}, %{w}{i})" for d, w in (("x", "a"), ("y", "b")) for i in range(3)]
    before = parse(main(f"%x: {t(1, 4, 5, 5)}, {y}, {weights}", f"({', '.join(convs)})"))
    after = CombineParallelConv2D()(before)
    assert count_ops(after["main"])["nn.conv2d"] == 2
    assert_same_meaning(before, after)


def test_how_many_branches_it_takes_and_its_level():
    before = parse(main(PARAMS, "(nn.conv2d(%x, %a), nn.conv2d(%x, %b))"))
    assert CombineParallelConv2D()(before)["main"] is before["main"]
    assert count_ops(CombineParallelConv2D(2)(before)["main"])["nn.conv2d"] == 1
    with pytest.raises(PassError, match="two branches or more"):
        CombineParallelConv2D(1)
    for level, count in ((3, 2), (4, 1)):
        with PassContext(opt_level=level):
            found = Sequential([CombineParallelConv2D(2)])(before)["main"]
            assert count_ops(found)["nn.conv2d"] == count
