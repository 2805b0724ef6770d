"""Ranges of data, from examples."""

import numpy as np
import pytest

import relay
from relay import nn
from relay.errors import PassError, RelayError
from relay.ir.expr import Function
from relay.quantize import (
    INT8,
    Integers,
    Scheme,
    annotate,
    calibrate,
    power_of_two,
    prerequisite_optimize,
    quantize,
)
from relay.quantize.points import points

MAX = Scheme("max")
x = relay.var("x", shape=(2, 3))
W = np.array([[1, -2, 0.5], [0, 0, 0]], "float32")
NETWORK = Function([x], nn.dense(nn.relu(x), relay.const(W)))


def calibrated(network, dataset, scheme=MAX):
    module = annotate(scheme)(prerequisite_optimize(network))
    return points(calibrate(dataset, scheme)(module)["main"])


def batch(value):
    return np.full((2, 3), value, "float32")


def test_the_range_is_that_of_all_batches():
    data, _ = calibrated(NETWORK, [batch(1), batch(5), batch(-9)])
    known = data.parameters
    assert known.zero_point == 0
    assert known.scale == pytest.approx(5 / 255)


def test_a_batch_has_names_or_places_or_is_the_only_input():
    for dataset in ([{"x": batch(5)}], [(batch(5),)], [[batch(5)]], iter([batch(5)])):
        assert calibrated(NETWORK, dataset)[0].parameters.scale == pytest.approx(5 / 255)


def test_each_channel_of_a_weight_has_its_scale_and_zeros_have_one():
    _, weight = calibrated(NETWORK, [batch(5)])
    assert weight.parameters.scale == pytest.approx([2 / 127, 1])


def test_data_that_are_zero_have_a_scale():
    assert calibrated(NETWORK, [batch(0)])[0].parameters.scale == 1
    found = relay.compile(quantize(NETWORK, None, [batch(0)], scheme=MAX))(batch(0))
    assert not found.any()


def test_a_range_always_has_zero():
    data, _ = calibrated(Function([x], nn.dense(x, relay.const(W))), [batch(7)])
    known = data.parameters
    assert (known.ends[0] * known.scale, known.ends[1] * known.scale) == (0, pytest.approx(7))


def test_a_global_scale_needs_no_examples():
    scheme = Scheme("g", data=Integers(scales=power_of_two), calibrate_mode="global_scale")
    assert calibrated(NETWORK, None, scheme)[0].parameters.scale == 8 / 128


def test_a_mode_may_be_a_function():
    scheme = Scheme("half", calibrate_mode=lambda found, integers: (0, found.high / 2))
    known = calibrated(NETWORK, [batch(5)], scheme)[0].parameters
    assert known.scale == pytest.approx(2.5 / 255)


def test_least_error_cuts_off_outliers():
    values = np.random.default_rng(0).standard_normal((100, 300)).astype("float32")
    values[0, 0] = 60
    y = relay.var("x", shape=(100, 300))
    network = Function([y], nn.dense(y, relay.const(np.ones((1, 300), "float32"))))
    scheme = Scheme("mse", data=Integers(bits=4), calibrate_mode="mse")
    assert calibrated(network, [values], scheme)[0].parameters.scale * 7 < 12


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([], "the dataset is empty"),
        ([{"y": batch(1)}], "`y`, which is no input"),
        ([{}], "batch 0 of the dataset has no `x`"),
        ([(batch(1), batch(1))], "another number of inputs"),
        ([batch(1), np.ones((2, 4), "float32")], "batch 1 of the dataset: `x` does not fit"),
        ([np.ones((2, 3))], "batch 0 of the dataset: `x` does not fit"),
        ([batch(np.nan)], "batch 0 of the dataset gives NaN in `relu_0`"),
        ([batch(1), batch(np.inf)], "batch 1 of the dataset gives infinite values in `relu_0`"),
        ({"x": batch(1)}, "a dataset is an iterable of batches"),
        (5, "a dataset is an iterable of batches"),
    ],
)
def test_bad_datasets_are_refused(dataset, message):
    with pytest.raises(RelayError, match=message):
        calibrated(NETWORK, dataset)


def test_a_mode_that_looks_at_data_needs_some():
    with pytest.raises(PassError, match='calibrate_mode "max" needs a dataset'):
        quantize(NETWORK, None, None, scheme=MAX)


def test_weights_that_are_not_finite_are_refused():
    network = Function([x], nn.dense(x, relay.const(np.where(W == 0.5, np.inf, W))))
    with pytest.raises(RelayError, match=r"`dense_0.weight` has elements that are NaN or infinite"):
        calibrated(network, [batch(1)])


def joined(other_reader):
    """A concatenation of two ranges; the first part has another reader or not."""
    a, b = relay.clip(x, 0.0, 1.0), relay.clip(x, 0.0, 50.0)
    whole = nn.dense(relay.concatenate((a, b), 1), relay.const(np.ones((2, 6), "float32")))
    return Function(
        [x], relay.Tuple((whole, nn.dense(a, relay.const(W)))) if other_reader else whole
    )


def test_parts_of_a_concatenation_have_its_scale():
    scales = {
        p.name: float(p.parameters.scale)
        for p in calibrated(joined(False), [batch(60)])
        if not p.is_weight
    }
    assert len(scales) == 3
    assert len(set(scales.values())) == 1


def test_a_part_with_other_readers_keeps_its_scale_if_it_is_much_finer():
    data = [np.random.default_rng(0).uniform(0, 60, (2, 3)).astype("float32") / 60, batch(60)]
    scales = {
        p.name: float(p.parameters.scale) for p in calibrated(joined(True), data) if not p.is_weight
    }
    assert scales["clip_0"] < scales["clip_1"] == scales["concatenate_0"]


def test_branches_run_to_be_measured():
    flag = relay.var("flag", shape=(), dtype="bool")
    y = relay.var("x", shape=(2, 3))
    body = nn.dense(relay.If(flag, relay.multiply(y, relay.const(2.0)), y), relay.const(W))
    dataset = [(batch(3), np.array(True)), (batch(4), np.array(False))]
    data, _ = calibrated(Function([y, flag], body), dataset)
    assert data.parameters.scale == pytest.approx(6 / 255)


def test_int8_is_a_scheme_of_eight_bits():
    assert (INT8.data.bits, INT8.weight.bits, INT8.weight.per) == (8, 8, "channel")
