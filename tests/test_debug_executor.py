"""Every intermediate value of a graph, against the interpreter and NumPy."""

import numpy as np
import pytest

import relay
from relay.testing import mlp

X = np.random.default_rng(0).standard_normal((2, 1, 4, 4), np.float32)


@pytest.fixture
def library():
    module, params = mlp.get_workload(batch_size=2, image_shape=(1, 4, 4), num_classes=3)
    with relay.transform.PassContext(opt_level=3):
        return relay.build(module, params=params), module, params


def test_values_are_those_of_the_layers(library):
    lib, _, params = library
    debug = relay.debug_executor.create(lib.get_graph_json(), lib, relay.cpu(0))
    debug.run(data=X)
    value = {name: data.numpy() for name, data in params.items()}
    hidden = np.maximum(X.reshape(2, 16) @ value["fc1_weight"].T + value["fc1_bias"], 0)
    np.testing.assert_allclose(debug.debug_get_output(0).numpy(), hidden, rtol=1e-5, atol=1e-6)
    softmax = debug.steps[-1].name
    out = np.zeros((2, 3), np.float32)
    debug.debug_get_output(softmax, out)
    plain = relay.graph_executor.GraphModule(lib["default"](relay.cpu(0)))
    plain.run(data=X)
    np.testing.assert_array_equal(out, plain.get_output(0).numpy())
    np.testing.assert_array_equal(debug.get_output(0).numpy(), out)
    kept = debug.debug_get_output(0).numpy().copy()
    debug.run(data=-X)
    np.testing.assert_array_equal(kept, np.float32(kept))
    assert not np.array_equal(debug.debug_get_output(0).numpy(), kept)
    assert all(seconds > 0 for seconds in debug.run_individual(number=2, repeat=2))


def test_the_first_kernel_that_makes_nan_is_named(library):
    lib, _, _ = library
    debug = relay.debug_executor.GraphModuleDebug(lib["default"](relay.cpu(0)))
    debug.run(data=X)
    assert debug.non_finite() is None
    debug.set_input(fc2_bias=np.array([np.inf] + [0] * 63, np.float32))
    debug.run(data=X)
    found = debug.non_finite()
    assert found is debug.steps[1] and "nn.dense" in found.operators


def test_a_run_is_written_to_a_folder(library, tmp_path):
    lib, _, _ = library
    graph = lib.get_graph_json()
    debug = relay.debug_executor.create(graph, lib, relay.cpu(0), dump_root=tmp_path / "run")
    debug.run(data=X)
    with np.load(tmp_path / "run" / "values.npz") as values:
        assert len(values.files) == len(debug.steps)
    assert (tmp_path / "run" / "graph.json").stat().st_size


def test_mistakes_are_explained(library):
    lib, _, _ = library
    debug = relay.debug_executor.GraphModuleDebug(lib["default"](relay.cpu(0)))
    with pytest.raises(relay.RelayError, match="before the first run"):
        debug.debug_get_output(0)
    debug.run(data=X)
    with pytest.raises(relay.RelayError, match="none of number 9"):
        debug.debug_get_output(9)
    with pytest.raises(relay.RelayError, match="did you mean"):
        debug.debug_get_output(debug.steps[0].name[:-1])
    with pytest.raises(relay.RelayError, match="not built together"):
        relay.debug_executor.create("{}", lib, relay.cpu(0))
