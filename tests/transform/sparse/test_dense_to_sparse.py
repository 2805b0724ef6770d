"""Products with weights in blocks."""

import numpy as np
import pytest

import relay
from relay.check.wellformed import check_well_formed
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.transform import DenseToSparse, InferType

HEADER = '#[version = "0.0.5"]\n'
X = "%x: Tensor[(1, 6), float32]"
W = "%w: Tensor[(4, 6), float32]"


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def sparse(mod, names=("w",), shapes=((3, 2, 3, 3, 3),)):
    after = DenseToSparse(names, shapes)(mod)
    check_well_formed(after)
    return after


def assert_stays(text, **options):
    mod = parse(text)
    assert sparse(mod, **options)["main"] is mod["main"]


def expected(shape, body, more=""):
    """A function whose weight `w` has become its parts."""
    data = relay.var("w.data", shape=shape[:-2])
    indices = relay.var("w.indices", shape=shape[-2:-1], dtype="int32")
    indptr = relay.var("w.indptr", shape=shape[-1:], dtype="int32")
    x = relay.var("x", shape=(1, 6))
    return relay.Function([x, data, indices, indptr], body(x, (data, indices, indptr)))


def test_a_product_takes_the_blocks_of_its_weight():
    after = sparse(parse(f"def @main({X}, {W}) {{ nn.relu(nn.dense(%x, %w)) }}"))
    wanted = expected((3, 2, 3, 3, 3), lambda x, w: relay.nn.relu(relay.nn.sparse_dense(x, w)))
    assert_structural_equal(after, InferType()(relay.IRModule.from_expr(wanted)))
    names = [param.name_hint for param in after["main"].params]
    assert names == ["x", "w.data", "w.indices", "w.indptr"]
    assert sparse(after)["main"] is after["main"]


def test_a_weight_of_single_elements_has_one_axis_of_data():
    after = sparse(parse(f"def @main({X}, {W}) {{ nn.dense(%x, %w) }}"), shapes=[(7, 7, 5)])
    wanted = expected((7, 7, 5), relay.nn.sparse_dense)
    assert_structural_equal(after, InferType()(relay.IRModule.from_expr(wanted)))


def test_products_inside_of_branches_and_lets_count():
    after = sparse(
        parse(
            f"""
            def @main({X}, %c: bool, {W}) {{
              let %y = nn.dense(%x, %w);
              if (%c) {{ add(nn.dense(negative(%x), %w), %y) }} else {{ %y }}
            }}
            """
        )
    )
    assert [p.name_hint for p in after["main"].params][:2] == ["x", "c"]
    assert "nn.dense" not in relay.analysis.list_op_freqs(after)
    assert relay.analysis.list_op_freqs(after)["nn.sparse_dense"] == 2


def test_a_weight_that_is_needed_as_it_is_stays_besides():
    after = sparse(parse(f"def @main({X}, {W}) {{ (nn.dense(%x, %w), negative(%w)) }}"))
    names = [param.name_hint for param in after["main"].params]
    assert names == ["x", "w", "w.data", "w.indices", "w.indptr"]


def test_what_has_no_sparse_form_stays():
    assert_stays(f"def @main({X}, {W}) {{ nn.dense(%x, negative(%w)) }}")
    assert_stays(f"def @main({X}, {W}) {{ nn.dense(%x, %w) }}", names=["other"])
    assert_stays(
        "def @main(%x: Tensor[(1, 6), int8], %w: Tensor[(4, 6), int8]) "
        '{ nn.dense(%x, %w, out_dtype="int32") }'
    )
    assert_stays(
        "def @main(%x: Tensor[(1, 2, 6), float32], %w: Tensor[(4, 6), float32]) "
        "{ nn.dense(%x, %w) }"
    )


def test_functions_that_are_called_keep_their_parameters():
    mod = parse(
        f"""
        def @main({X}, %v: Tensor[(4, 6), float32]) {{ @f(%x, %v) }}
        def @f({X}, {W}) {{ nn.dense(%x, %w) }}
        """
    )
    after = sparse(mod)
    assert all(after[name] is mod[name] for name in ("main", "f"))


def test_names_and_shapes_belong_together():
    with pytest.raises(PassError, match="there are 1 weights and the shapes of 0"):
        DenseToSparse(["w"], [])
    with pytest.raises(PassError, match=r"the shape of the sparse weight `w`.*found \[1, 2\]"):
        DenseToSparse(["w"], [[1, 2]])


def test_other_element_types_are_kept():
    after = sparse(
        parse(
            "def @main(%x: Tensor[(?, 6), float64], %w: Tensor[(4, 6), float64]) "
            "{ nn.dense(%x, %w) }"
        )
    )
    assert after["main"].params[1].checked_type == relay.TensorType((3, 2, 3), "float64")
    data = np.ones((3, 2, 3)), np.array([1, 0, 1], "int32"), np.array([0, 1, 3], "int32")
    result = relay.create_executor("debug", after).evaluate()(np.ones((2, 6)), *data)
    np.testing.assert_array_equal(result.numpy(), [[3, 3, 6, 6]] * 2)
