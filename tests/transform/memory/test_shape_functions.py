"""Functions that say how large the results of kernels are."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_module
from relay.transform.memory.shape_functions import shape_function

# body over %x and %y, their shapes, arguments that fit them
KERNELS = [
    ("exp(%x)", "(n, 4)", "(m)", (3, 4), (2,)),
    ("concatenate((%x, %y), axis=0)", "(n, 4)", "(m, 4)", (3, 4), (2, 4)),
    ("nn.dense(%x, %y)", "(n, 4)", "(m, 4)", (3, 4), (2, 4)),
    ("nn.dense(%x, %y)", "(?, 4)", "(?, 4)", (3, 4), (2, 4)),
    ("add(%x, %y)", "(?, 4)", "(4)", (3, 4), (4,)),
    ("reshape(%x, newshape=[-1])", "(n, m)", "(m)", (3, 5), (5,)),
    (
        "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2])",
        "(1, n, m, 9)",
        "(1)",
        (1, 2, 8, 9),
        (1,),
    ),
    ("strided_slice(%x, begin=[1], end=[100], strides=[2], axes=[0])", "(n)", "(m)", (7,), (1,)),
    ("split(%x, indices_or_sections=[1], axis=0)", "(n, 2)", "(m)", (7, 2), (1,)),
    ("add(%x, concatenate((%y, %y), axis=0))", "(2 * n)", "(n)", (6,), (3,)),
    ("exp(%x)", "((n + 1) // 2, n * m)", "(1)", (4, 6), (1,)),
]


def kernel(body, x, y):
    text = f"""#[version = "0.0.5"]
    def @main[n: Shape, m: Shape](%x: Tensor[{x}, float32], %y: Tensor[{y}, float32]) {{ {body} }}
    """
    return infer_module(relay.parse(text))["main"]


def wanted(function, *arrays):
    """For every result whose size is open, its extents and its number of bytes."""
    value = relay.create_executor("debug", relay.IRModule.from_expr(function)).evaluate()(*arrays)
    types = function.ret_type
    is_tuple = isinstance(types, relay.TupleType)
    pairs = zip(types.fields, value, strict=True) if is_tuple else [(types, value)]
    found = []
    for ty, result in pairs:
        if not all(isinstance(extent, int) for extent in ty.shape):
            found += [list(result.shape), result.numpy().nbytes]
    return found


@pytest.mark.parametrize(("body", "x", "y", "x_shape", "y_shape"), KERNELS)
def test_it_tells_what_comes_out(body, x, y, x_shape, y_shape):
    function = kernel(body, x, y)
    arrays = [np.ones(shape, "float32") for shape in (x_shape, y_shape)]
    made = shape_function(function)
    shapes = [np.array(arrays[index].shape) for index, _ in made.arguments]
    module = relay.IRModule.from_expr(made.function)
    found = relay.create_executor("debug", module).evaluate()(*shapes)
    assert [part.numpy().tolist() for part in found] == wanted(function, *arrays)


def test_values_may_decide():
    assert shape_function(kernel("argwhere(%x)", "(n)", "(m)")) is None
    # which of the two is stretched only a run tells
    assert shape_function(kernel("add(%x, %y)", "(?)", "(?)")) is None


def test_only_the_arguments_that_matter_are_asked_for():
    assert shape_function(kernel("nn.dense(%y, %y)", "(n, 4)", "(m, 4)")).arguments == ((1, None),)


def test_extents_of_tuples_are_those_of_their_fields():
    function = relay.parse_expr(
        """
        fn [n: Shape, m: Shape](%t: (Tensor[(n), float32], Tensor[(m), float32])) {
          concatenate(%t, axis=0)
        }
        """
    )
    made = shape_function(infer_module(relay.IRModule.from_expr(function))["main"])
    assert made.arguments == ((0, 0), (0, 1))
    run = relay.create_executor("debug", relay.IRModule.from_expr(made.function)).evaluate()
    assert [part.numpy().tolist() for part in run(np.array([2]), np.array([3]))] == [[5], 20]
