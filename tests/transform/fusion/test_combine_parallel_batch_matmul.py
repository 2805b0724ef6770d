"""Batches of products with the same first matrices become one."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops
from relay.transform import CombineParallelBatchMatmul, InferType, PassContext, Sequential

HEADER = '#[version = "0.0.5"]\n'
PARAMS = "%x: Tensor[(2, 3, 4), float64], " + ", ".join(
    f"%{name}: Tensor[(2, {count}, 4), float64]"
    for name, count in zip("abc", (5, 1, 2), strict=True)
)


def parse(body, params=PARAMS):
    return InferType()(relay.parse(HEADER + f"def @main({params}) {{ {body} }}"))


def assert_stays(body, params=PARAMS):
    before = parse(body, params)
    assert CombineParallelBatchMatmul()(before)["main"] is before["main"]


def assert_same_meaning(before, after):
    rng = np.random.default_rng(0)
    given = [rng.normal(size=p.checked_type.concrete_shape) for p in before["main"].params]
    results = [relay.create_executor("debug", m).evaluate()(*given) for m in (before, after)]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-9, atol=1e-11)


def product(name, left="%x"):
    return f"nn.batch_matmul({left}, %{name}, transpose_b=True)"


def test_the_second_matrices_lie_side_by_side():
    before = parse(f"(nn.relu({product('a')}), nn.relu({product('b')}), tanh({product('c')}))")
    after = CombineParallelBatchMatmul()(before)
    expected = """
        %0 = nn.batch_matmul(%x, concatenate((%a, %b, %c), axis=1), transpose_b=True);
        (
          nn.relu(strided_slice(%0, begin=[0], end=[5], axes=[2])),
          nn.relu(strided_slice(%0, begin=[5], end=[6], axes=[2])),
          tanh(strided_slice(%0, begin=[6], end=[8], axes=[2]))
        )
    """
    assert_structural_equal(after, parse(expected))
    assert CombineParallelBatchMatmul()(after)["main"] is after["main"]
    assert_same_meaning(before, after)


def test_without_transposition_they_do_along_the_other_axis():
    params = "%x: Tensor[(2, 3, 4), float64], " + ", ".join(
        f"%{name}: Tensor[(2, 4, {n}), float64]" for name, n in zip("abc", (5, 1, 2), strict=True)
    )
    products = ", ".join(f"nn.relu(nn.batch_matmul(%x, %{name}) * 2f64)" for name in "abc")
    before = parse(f"({products})", params)
    after = CombineParallelBatchMatmul()(before)
    counts = count_ops(after["main"])
    assert counts["nn.batch_matmul"] == counts["nn.relu"] == counts["multiply"] == 1
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    "body",
    [
        f"({product('a')}, {product('b')})",
        f"({product('a')}, {product('b')}, {product('c', 'nn.relu(%x)')})",
        # what has to be computed first may need one of the products
        f"({product('a')}, {product('b')}, nn.batch_matmul(%x, nn.relu(%c), transpose_b=True))",
        f"({product('a')}, {product('b')}, nn.batch_matmul(%x, reshape(%c, newshape=[2, 4, 2])))",
    ],
)
def test_few_or_different_products_stay(body):
    assert_stays(body)


def test_a_batch_of_one_does_not_mix_with_others():
    params = PARAMS.replace("%c: Tensor[(2,", "%c: Tensor[(1,")
    assert_stays(f"({product('a')}, {product('b')}, {product('c')})", params)


def test_how_many_branches_it_takes_and_its_level():
    before = parse(f"({product('a')}, {product('b')})")
    with pytest.raises(PassError, match="two branches or more"):
        CombineParallelBatchMatmul(1)
    for level, count in ((3, 2), (4, 1)):
        with PassContext(opt_level=level):
            found = Sequential([CombineParallelBatchMatmul(2)])(before)["main"]
            assert count_ops(found)["nn.batch_matmul"] == count
