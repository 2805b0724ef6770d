"""What types prove of sizes, and what is left to a run."""

import numpy as np
import pytest

import relay
from relay.analysis.certain_sizes import sizes_are_certain
from relay.errors import RelayError
from relay.ir.types import TensorType, TupleType
from relay.op.opdef import get

ANY = relay.Any()
N, C, D = relay.ShapeVar("n"), relay.ShapeVar("c"), relay.ShapeVar("d")


@pytest.mark.parametrize(
    ("data", "bias", "certain"),
    [
        ((2, 3), 3, True),
        ((ANY, 3), 3, True),
        ((N, C), C, True),
        ((N, 2 * C), C + C, True),
        ((2, ANY), 3, False),
        ((2, 3), ANY, False),
        ((2, ANY), ANY, False),
        ((N, C), D, False),
        ((N, C), 3, False),
        ((2, 1), 3, False),  # no well-typed call
    ],
)
def test_sizes_are_certain_where_types_prove_them(data, bias, certain):
    op = get("nn.bias_add")
    types = (TensorType(data, "float32"), TensorType((bias,), "float32"))
    assert sizes_are_certain(op, types, op.make_attrs({})) is certain


@pytest.mark.parametrize(
    ("name", "shape", "attrs", "certain"),
    [
        ("reshape", (ANY, 6), {"newshape": (-1,)}, True),
        ("reshape", (ANY, 6), {"newshape": (-1, 2, 3)}, True),
        ("reshape", (ANY, 6), {"newshape": (-1, 4)}, False),
        ("reshape", (ANY,), {"newshape": (2, 3)}, False),
        ("squeeze", (1, ANY), {"axis": (0,)}, True),
        ("squeeze", (ANY, ANY), {"axis": (0,)}, False),
        ("split", (4 * N,), {"indices_or_sections": 2}, True),
        ("split", (ANY,), {"indices_or_sections": 2}, False),
    ],
)
def test_unknown_extents_are_numbers_that_nothing_is_known_of(name, shape, attrs, certain):
    op = get(name)
    types = (TensorType(shape, "float32"),)
    assert sizes_are_certain(op, types, op.make_attrs(attrs)) is certain


def test_unknown_extents_of_a_tuple_are_not_the_same():
    op, ty = get("concatenate"), TensorType((2, ANY), "float32")
    assert not sizes_are_certain(op, (TupleType((ty, ty)),), op.make_attrs({"axis": 0}))
    assert sizes_are_certain(op, (TupleType((ty, ty)),), op.make_attrs({"axis": 1}))


def test_sizes_that_depend_on_values_are_not_certain():
    op = get("dyn.reshape")
    types = (TensorType((4,), "float32"), TensorType((1,), "int64"))
    assert not sizes_are_certain(op, types, op.make_attrs({}))


VECTORS = {
    "nn.bias_add": 1,
    "nn.prelu": 1,
    "nn.batch_norm": 4,
    "nn.batch_norm_training": 4,
    "nn.layer_norm": 2,
    "nn.instance_norm": 2,
    "nn.group_norm": 2,
}


@pytest.mark.parametrize("all_norms", [False, True])
@pytest.mark.parametrize("name", VECTORS)
def test_vectors_that_do_not_fit_in_a_run_are_refused_and_not_broadcast(name, all_norms):
    count, op = VECTORS[name], get(name)
    given = {"num_groups": 1} if name == "nn.group_norm" else {}
    given |= {"axis": 1} if op.names_axes else {}
    data = relay.var("x", shape=(ANY, ANY, ANY))
    vectors = [relay.var(f"v{i}", shape=(ANY,)) for i in range(count)]
    result = relay.Call(op, (data, *vectors), op.make_attrs(given))
    module = relay.IRModule.from_expr(relay.Function([data, *vectors], result))
    wanted = relay.create_executor("debug", module).evaluate()
    if all_norms:
        module = relay.transform.SimplifyInference(all_norms=True)(module)
    engines = [relay.compile(module), relay.create_executor("vm", module).evaluate()]
    for run in (wanted, *engines):
        for channels, length in ((1, 3), (3, 1)):
            arguments = [np.ones((2, channels, 4), "float32")]
            arguments += [np.ones(length, "float32")] * count
            with pytest.raises(RelayError, match=r"has the wrong shape|do not fit"):
                run(*arguments)
