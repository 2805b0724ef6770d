"""The surface people know: set inputs, run, get outputs."""

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, RelayError
from relay.graph_executor import GraphLibrary, GraphModule, create

X = np.arange(6, dtype="float32").reshape(2, 3)
Y = np.full((2, 3), 10, "float32")


@pytest.fixture(scope="module")
def library():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    w = relay.var("w", shape=(3,))
    body = relay.Tuple([(x - y) * relay.exp(w), x + y])
    return relay.build(relay.Function([x, y, w], body), params={"w": np.zeros(3, "float32")})


@pytest.fixture
def module(library):
    return GraphModule(library["default"](relay.cpu(0)))


def test_inputs_are_set_by_name_and_number(module):
    module.set_input("x", X)
    module.set_input(1, Y)
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), X - Y)
    np.testing.assert_array_equal(module.get_output(1).numpy(), X + Y)
    assert module.get_num_outputs() == 2
    assert module.get_num_inputs() == 2


def test_inputs_are_set_together_and_when_running(module):
    module.set_input(x=X, y=Y)
    module.run()
    np.testing.assert_array_equal(module.get_output(1).numpy(), X + Y)
    module.run(y=X)
    np.testing.assert_array_equal(module.get_output(1).numpy(), 2 * X)


def test_inputs_are_copied_unless_that_is_not_wanted(module):
    x, y = X.copy(), Y.copy()
    module.set_input("x", x)
    module.set_input_zero_copy("y", y)
    x[...] = 0
    y[...] = 1
    module.run()
    np.testing.assert_array_equal(module.get_output(1).numpy(), X + 1)
    np.testing.assert_array_equal(module.get_input("x").numpy(), X)
    np.testing.assert_array_equal(module.get_input(0).numpy(), X)


def test_what_is_set_is_converted_where_that_keeps_the_numbers(module):
    module.set_input("x", X.astype("float64"))
    module.set_input(y=Y.astype("int64"), w=np.zeros(3))
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), X - Y)
    with pytest.raises(EvaluationError, match="another element type"):
        module.set_input("x", np.full((2, 3), 2**24 + 1))
    with pytest.raises(EvaluationError, match="is no tensor"):
        module.set_input("x", X.astype("complex64"))


def test_what_is_not_set_is_zero(module):
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.zeros((2, 3)))


def test_weights_are_set_like_inputs(module):
    module.set_input(x=X, y=Y, w=np.log(np.full(3, 2, "float32")))
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), 2 * (X - Y), rtol=1e-6)
    module.set_input("w", np.zeros(3, "float32"))
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), X - Y)
    module.load_params(relay.save_param_dict({"w": np.zeros(3, "float32"), "x": Y}))
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), Y - Y)


def test_outputs_stay_as_they_are(module):
    module.run(x=X, y=Y)
    first = module.get_output(1)
    module.run(x=Y)
    np.testing.assert_array_equal(first.numpy(), X + Y)
    out = np.empty((2, 3), "float32")
    module.get_output(1, out)
    np.testing.assert_array_equal(out, 2 * Y)
    with pytest.raises(RelayError, match=r"or a tensor of relay\.nd\.empty"):
        module.get_output(1, relay.nd.array(out))


def test_an_output_goes_into_a_tensor_that_can_be_written(module):
    module.run(x=X, y=Y)
    out = relay.nd.empty((2, 3))
    assert module.get_output(1, out) is out
    np.testing.assert_array_equal(out.numpy(), X + Y)
    with pytest.raises(RelayError, match=r"cannot be written to one of shape \(3, 2\)"):
        module.get_output(1, relay.nd.empty((3, 2)))


def test_a_library_comes_apart_into_graph_code_and_weights(library):
    graph, lib, params = library
    assert graph == library.get_graph_json()
    assert params.keys() == library.params.keys() == library.get_params().keys() == {"w"}
    module = create(graph, lib, relay.cpu(0))
    module.set_input(x=X, y=Y, **params)
    module.run()
    np.testing.assert_array_equal(module.get_output(1).numpy(), X + Y)
    assert library.lib is library.get_lib()
    create(graph, library.executable).run(x=X)


def test_a_graph_belongs_to_its_library(library):
    x = relay.var("x", shape=(2,))
    other = relay.build(relay.Function([x], relay.exp(x)))
    with pytest.raises(RelayError, match="not built together"):
        create(other.get_graph_json(), library)
    with pytest.raises(RelayError, match="a graph is the text of"):
        create("no graph", library)


def test_it_says_what_it_takes(module):
    assert module.get_input_info() == (
        {"x": (2, 3), "y": (2, 3)},
        {"x": "float32", "y": "float32"},
    )
    assert module.get_input_index("y") == 1
    assert module.get_input_index("w") == -1


def test_what_is_wrong_is_explained(module, library):
    with pytest.raises(RelayError, match=r"before the first run\(\)"):
        module.get_output(0)
    module.run()
    with pytest.raises(RelayError, match="none of number 2"):
        module.get_output(2)
    for key in ("xs", 7, "packed_0"):
        with pytest.raises(EvaluationError, match="has no input"):
            module.set_input(key, X)
    with pytest.raises(EvaluationError, match="another shape"):
        module.set_input("x", X[0])
    with pytest.raises(RelayError, match="no model 'other'"):
        library["other"]
    with pytest.raises(RelayError, match="built for the CPU"):
        library["default"](relay.nd.Device("cuda"))
    with pytest.raises(RelayError, match="built for the CPU"):
        GraphModule(library["default"]()).benchmark(relay.nd.Device("cuda"))
    with pytest.raises(RelayError, match="is made of"):
        GraphModule(object())
    with pytest.raises(RelayError, match="only `run`"):
        module.benchmark(func_name="walk")


def test_runs_are_timed(module):
    result = module.benchmark(relay.cpu(0), repeat=2, number=3, x=X)
    assert len(result.results) == 2
    assert result.mean > 0
    module.benchmark(repeat=1, number=1, min_repeat_ms=1, end_to_end=True, x=X, y=Y)


def test_a_library_goes_to_a_file(library, tmp_path):
    library.export_library(tmp_path / "net.relayx")
    loaded = relay.load(tmp_path / "net.relayx")
    np.testing.assert_array_equal(loaded(X, Y)[1], X + Y)
    module = GraphModule(GraphLibrary(loaded))
    module.run(x=X, y=Y)
    np.testing.assert_array_equal(module.get_output(1).numpy(), X + Y)
    library.export_library(tmp_path / "net.o")
    assert (tmp_path / "net.h").exists()
