"""Tensor arrays: every function has a type, and does what NumPy does."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_module
from relay.errors import EvaluationError, RelayError
from relay.interpreter.evaluate import call, evaluate
from relay.interpreter.values import ConstructorValue, to_value
from relay.prelude import Prelude, StaticTensorArrayOps, TensorArrayOps, get_tensor_array_shape
from relay.tensor_array import CONSTRUCTORS, OPERATIONS

DTYPES = ("float32", "int32")
STATIC_OPERATIONS = (
    "tensor_get_data",
    "tensor_take",
    "tensor_expand_dims",
    "tensor_concatenate",
    "tensor_array",
    "tensor_array_read",
    "tensor_array_write",
    "tensor_array_unstack",
    "tensor_array_scatter",
    "tensor_array_split",
    "tensor_array_concat",
    "tensor_array_stack",
    "tensor_array_gather",
)
WITH_AXES = {"tensor_take", "tensor_concatenate", "tensor_array_split", "tensor_array_concat"}
ANY = relay.Any()


class Arrays:
    """A family on Python data: a tensor is an array or None, an array of tensors is a list."""

    def __init__(self, ops):
        self.ops = ops
        self.module = ops.prelude.mod
        self.typed = infer_module(self.module)

    def make(self, constructor, *fields):
        return ConstructorValue(constructor.tag, fields, constructor)

    def tensor(self, value):
        if value is None:
            return self.make(self.ops.get_ctor("tensor_nil"))
        static = isinstance(self.ops, StaticTensorArrayOps)
        name = "tensor_constructor" if static else f"tensor{np.ndim(value)}"
        data = np.asarray(value, self.ops.dtype)
        return self.make(self.ops.get_ctor(name), to_value(data))

    def list(self, values):
        prelude = self.ops.prelude
        made = self.make(prelude.nil)
        for value in reversed(values):
            made = self.make(prelude.cons, self.tensor(value), made)
        return made

    def __call__(self, name, *args):
        function = evaluate(self.ops.get_global_var(name), self.typed)
        given = [a if isinstance(a, ConstructorValue) else to_value(a) for a in args]
        return to_python(call(function, given))


def to_python(value):
    if isinstance(value, relay.nd.NDArray):
        return value.numpy()
    if value.constructor.name_hint in ("Cons", "Nil"):
        found = []
        while value.fields:
            found.append(to_python(value.fields[0]))
            value = value.fields[1]
        return found
    return value.fields[0].numpy() if value.fields else None


def same(found, expected):
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)
        assert np.shape(found) == np.shape(expected)


def rows(*shape, dtype="float32", start=0):
    return (start + np.arange(np.prod(shape, dtype=int))).reshape(shape).astype(dtype)


def integers(*values):
    return np.array(values, "int32")


@pytest.fixture(scope="module", params=DTYPES)
def dynamic(request):
    return Arrays(TensorArrayOps(Prelude(), request.param))


@pytest.fixture(scope="module", params=[(), (3,), (2, 3)], ids=str)
def static(request):
    return Arrays(StaticTensorArrayOps(Prelude(), "float32", request.param))


# --- definitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_function_of_any_rank_has_a_type(dtype):
    ops = TensorArrayOps(Prelude(), dtype)
    typed = infer_module(ops.prelude.mod)
    tensor = ops.get_type()()
    array = ops.prelude.l(tensor)
    number, numbers = relay.scalar_type("int32"), relay.TensorType([ANY], "int32")
    results = {
        "tensor_take": ([tensor, number, number], tensor),
        "tensor_expand_dims": ([tensor], tensor),
        "tensor_concatenate": ([tensor, tensor], tensor),
        "tensor_array": ([number], array),
        "tensor_array_read": ([array, number], tensor),
        "tensor_array_write": ([array, number, tensor], array),
        "tensor_array_scatter": ([array, numbers, array], array),
        "tensor_array_split": ([array, tensor, numbers], array),
        "tensor_array_concat": ([array], tensor),
        "tensor_array_stack": ([array], tensor),
        "tensor_array_gather": ([array, numbers], tensor),
    }
    for rank in range(1, 7):
        whole = relay.TensorType([ANY] * rank, dtype)
        results[f"tensor_array_unstack_tensor{rank}"] = ([whole], array)
    assert set(results) == set(OPERATIONS)
    for name, (arguments, result) in results.items():
        found = typed[ops.get_global_var(name)].checked_type
        assert found == relay.FuncType(arguments, result), name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (4,), (ANY, 2), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("batch_dim", [None, 1, 5])
def test_every_function_of_one_shape_has_a_type(dtype, shape, batch_dim):
    ops = StaticTensorArrayOps(Prelude(), dtype, shape, batch_dim)
    typed = infer_module(ops.prelude.mod)
    for name in STATIC_OPERATIONS:
        if shape or name not in WITH_AXES:
            assert typed[ops.get_global_var(name)].checked_type is not None
    stacked = ops.prelude.get_type_static("tensor_t", dtype, (batch_dim or ANY, *shape))
    assert typed[ops.get_global_var("tensor_array_stack")].ret_type == stacked()
    unstacked = typed[ops.get_global_var("tensor_array_unstack")].checked_type
    assert unstacked.arg_types == (relay.TensorType((batch_dim or ANY, *shape), dtype),)


def test_a_family_prints_and_parses_to_itself():
    prelude = Prelude()
    TensorArrayOps(prelude, "float32")
    StaticTensorArrayOps(prelude, "float32", (ANY, 3))
    again = relay.parse(prelude.mod.astext())
    relay.ir.assert_structural_equal(again, prelude.mod)
    # what went through text is completed, with the constructors it has
    completed = Prelude(again)
    StaticTensorArrayOps(completed, "float32", (3,))
    infer_module(again)


def test_names_say_which_family_it_is():
    prelude = Prelude()
    assert prelude.get_name("tensor_t", "int8") == "tensor_int8_t"
    assert prelude.get_name("tensor_array_read", "int8") == "tensor_array_read_int8"
    static = prelude.get_name_static
    assert static("tensor_t", "int8", (2, ANY)) == "static_tensor_int8_2_any_t"
    assert static("tensor_take", "int8", (2, ANY)) == "tensor_take_int8_2_any"
    assert static("tensor_array", "int8", ()) == "tensor_array_int8_scalar"
    assert static("tensor_array", "int8", (2,), 1) == "tensor_array_int8_batch1_2"
    assert static("tensor_nil", "int8", (2,), 1) == "tensor_nil_int8_2"


def test_a_family_is_defined_when_it_is_looked_up():
    prelude = Prelude()
    assert "tensor_array_float16" not in prelude.mod
    assert prelude.get_global_var("tensor_array", "float16").name_hint == "tensor_array_float16"
    assert prelude.tensor_array_uint8 is prelude.mod.get_global_var("tensor_array_uint8")
    assert prelude.tensor_uint16_t == prelude.get_type("tensor_t", "uint16")
    assert prelude.tensor1_int64 is prelude.get_tensor_ctor("tensor1", "int64")
    for canonical in CONSTRUCTORS:
        found = prelude.get_ctor("tensor_int8_t", canonical, "int8")
        assert found is prelude.get_tensor_ctor(canonical, "int8")
    name = prelude.get_type_static("tensor_t", "int8", (2,)).name_hint
    found = prelude.get_ctor_static(name, "tensor_constructor", "int8", (2,))
    assert found is prelude.get_tensor_ctor_static("tensor_constructor", "int8", (2,))


def test_defining_a_family_twice_changes_nothing():
    ops = TensorArrayOps(Prelude(), "float32")
    functions = ops.prelude.mod.functions
    ops.register()
    TensorArrayOps(ops.prelude, "float32")
    assert all(ops.prelude.mod.functions[name] is f for name, f in functions.items())
    assert len(ops.prelude.mod.functions) == len(functions)


def test_unknown_parts_and_types_are_refused():
    prelude = Prelude()
    with pytest.raises(RelayError, match="no function `tensor_array_reed_float32`; did you mean"):
        prelude.get_global_var("tensor_array_reed", "float32")
    with pytest.raises(RelayError, match="no constructor `tensor7_float32`"):
        prelude.get_tensor_ctor("tensor7", "float32")
    with pytest.raises(RelayError, match="float31"):
        TensorArrayOps(prelude, "float31")
    with pytest.raises(RelayError, match="known extents"):
        StaticTensorArrayOps(prelude, "float32", (relay.ShapeVar("n"),))
    with pytest.raises(RelayError, match="batch_dim"):
        StaticTensorArrayOps(prelude, "float32", (), batch_dim=0)
    with pytest.raises(AttributeError, match="no `tensor_array_float31`"):
        _ = prelude.tensor_array_float31


@pytest.mark.parametrize("shape", [(), (2, 3), (ANY, 3)], ids=str)
def test_the_shape_of_elements_is_read_from_the_type(shape):
    prelude = Prelude()
    array = prelude.get_global_var_static("tensor_array", "float32", shape)
    assert get_tensor_array_shape(array(relay.const(3)), "float32", prelude) == shape
    array = prelude.get_global_var("tensor_array", "float32")
    assert get_tensor_array_shape(array(relay.const(3)), "float32", prelude) is None
    for other in (relay.const(3), prelude.cons(relay.const(3), prelude.nil())):
        with pytest.raises(RelayError, match="expected a tensor array of float32"):
            get_tensor_array_shape(other, "float32", prelude)


# --- elements of any rank ------------------------------------------------------------------------


@pytest.mark.parametrize("rank", range(1, 7))
def test_rows_are_taken_and_joined(dynamic, rank):
    x, y = rows(4, *[2] * (rank - 1)), rows(3, *[2] * (rank - 1), start=50)
    same(dynamic("tensor_take", dynamic.tensor(x), 1, 3), x[1:3])
    same(dynamic("tensor_take", dynamic.tensor(x), 2, 2), x[2:2])
    joined = dynamic("tensor_concatenate", dynamic.tensor(x), dynamic.tensor(y))
    same(joined, np.concatenate([x, y]))


@pytest.mark.parametrize("rank", range(6))
def test_an_axis_is_added(dynamic, rank):
    x = rows(*[2] * rank)
    same(dynamic("tensor_expand_dims", dynamic.tensor(x)), x[None])


@pytest.mark.parametrize("rank", range(1, 7))
def test_unstacking_and_stacking(dynamic, rank):
    x = rows(3, *[2] * (rank - 1))
    same(dynamic(f"tensor_array_unstack_tensor{rank}", x.astype(dynamic.ops.dtype)), list(x))
    same(dynamic("tensor_array_stack", dynamic.list(list(x))), x)


def test_reading_and_writing(dynamic):
    same(dynamic("tensor_array", 3), [None, None, None])
    same(dynamic("tensor_array", 0), [])
    same(dynamic("tensor_array", -1), [])
    values = [rows(2), None, rows(2, 2)]
    same(dynamic("tensor_array_read", dynamic.list(values), 2), values[2])
    written = dynamic("tensor_array_write", dynamic.list(values), 1, dynamic.tensor(rows(5)))
    same(written, [values[0], rows(5), values[2]])


def test_scattering_and_gathering(dynamic):
    values = [rows(2, start=s) for s in (10, 20, 30)]
    array = dynamic.list([None] * 4)
    scattered = dynamic("tensor_array_scatter", array, integers(3, 0, 2), dynamic.list(values))
    same(scattered, [values[1], None, values[2], values[0]])
    again = dynamic("tensor_array_scatter", array, integers(1, 1), dynamic.list(values[:2]))
    same(again, [None, values[1], None, None])
    gathered = dynamic("tensor_array_gather", dynamic.list(values), integers(2, 0, 0, 1))
    same(gathered, np.stack([values[i] for i in (2, 0, 0, 1)]))


def test_splitting_and_joining(dynamic):
    x = rows(7, 2)
    array = dynamic.list([None] * 4)
    split = dynamic("tensor_array_split", array, dynamic.tensor(x), integers(2, 0, 5))
    same(split, [*np.split(x, [2, 2]), None])
    same(dynamic("tensor_array_concat", dynamic.list(split[:-1])), x)


def test_what_is_not_there_fails(dynamic):
    array = dynamic.list([rows(2), None])
    for name, *args in (
        ("tensor_array_read", array, 2),
        ("tensor_array_stack", array),
        ("tensor_array_stack", dynamic.list([])),
        ("tensor_array_concat", array),
        ("tensor_take", dynamic.tensor(5), 0, 1),
        ("tensor_expand_dims", dynamic.tensor(rows(*[1] * 6))),
        ("tensor_array_scatter", array, integers(0, 1), dynamic.list([rows(2)])),
    ):
        with pytest.raises(EvaluationError, match="no clause"):
            dynamic(name, *args)


# --- elements of one shape -----------------------------------------------------------------------


def test_static_arrays_are_stacked_and_unstacked(static):
    x = rows(4, *static.ops.shape)
    same(static("tensor_array_unstack", x), list(x))
    same(static("tensor_array_stack", static.list(list(x))), x)
    same(static("tensor_expand_dims", static.tensor(x[1])), x[1:2])
    same(static("tensor_get_data", static.tensor(x[1])), x[1])
    with pytest.raises(EvaluationError, match="no clause"):
        static("tensor_get_data", static.tensor(None))


def test_static_arrays_are_read_and_written(static):
    x = rows(3, *static.ops.shape)
    same(static("tensor_array", 2), [None, None])
    same(static("tensor_array_read", static.list(list(x)), 1), x[1])
    written = static("tensor_array_write", static.list([None] * 3), 1, static.tensor(x[0]))
    same(written, [None, x[0], None])
    scattered = static(
        "tensor_array_scatter", static.list([None] * 3), integers(2, 0), static.list(list(x[:2]))
    )
    same(scattered, [x[1], None, x[0]])
    same(static("tensor_array_gather", static.list(list(x)), integers(2, 2, 0)), x[[2, 2, 0]])


def test_static_arrays_are_split_and_joined(static):
    if not static.ops.shape:
        with pytest.raises(RelayError, match="no function"):
            static("tensor_take", static.tensor(1), 0, 1)
        return
    x = rows(*static.ops.shape)
    y = x + 100
    same(static("tensor_take", static.tensor(x), 0, 1), x[:1])
    joined = static("tensor_concatenate", static.tensor(x), static.tensor(y))
    same(joined, np.concatenate([x, y]))
    same(static("tensor_array_concat", static.list([x, y, x])), np.concatenate([x, y, x]))
    shape = (ANY, *static.ops.shape[1:])
    parts = Arrays(StaticTensorArrayOps(static.ops.prelude, "float32", shape))
    split = static(
        "tensor_array_split", parts.list([None] * 2), static.tensor(x), integers(1, len(x) - 1)
    )
    same(split, np.split(x, [1]))


def test_a_known_number_of_elements_is_part_of_the_type_and_kept_to():
    arrays = Arrays(StaticTensorArrayOps(Prelude(), "float32", (3,), batch_dim=2))
    x = rows(2, 3)
    same(arrays("tensor_array_stack", arrays.list(list(x))), x)
    same(arrays("tensor_array_unstack", x), list(x))
    same(arrays("tensor_array_gather", arrays.list(list(x)), integers(0, 1, 0)), x[[0, 1, 0]])
    with pytest.raises(EvaluationError, match="wrong extent"):
        arrays("tensor_array_stack", arrays.list([x[0]]))


def test_a_program_that_builds_a_tensor_array_runs():
    p = Prelude()
    write = p.get_global_var("tensor_array_write", "float32")
    array = p.get_global_var("tensor_array", "float32")(relay.const(2))
    x = relay.var("x", relay.TensorType((2,)))
    tensor1 = p.get_tensor_ctor("tensor1", "float32")
    array = write(array, relay.const(0), tensor1(x))
    array = write(array, relay.const(1), tensor1(x * x))
    p.mod["main"] = relay.Function([x], p.get_global_var("tensor_array_stack", "float32")(array))
    result = relay.create_executor("debug", p.mod).evaluate()(np.array([2, 3], "float32"))
    same(to_python(result), np.array([[2, 3], [4, 9]]))


def test_a_module_with_the_prelude_has_every_family():
    module = relay.IRModule()
    Prelude(module)
    header, nil, *_ = module.get_type("tensor_float32_t")
    assert (header.name_hint, nil.name_hint) == ("tensor_float32_t", "tensor_nil_float32")
    assert len(module["tensor_array_read_int16"].params) == 2
    assert module.get_constructor("tensor2_int8").belong_to.name_hint == "tensor_int8_t"
