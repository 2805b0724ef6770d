"""Tensor values: made from anything that is an array, never changed afterwards."""

import numpy as np
import pytest
import torch

import relay
from relay import nd
from relay.errors import RelayError


def test_an_array_is_copied():
    data = np.arange(6, dtype="float32").reshape(2, 3)
    made = nd.array(data)
    data[0, 0] = 100
    assert made.shape == (2, 3)
    assert made.dtype == "float32"
    np.testing.assert_array_equal(made.numpy(), np.arange(6).reshape(2, 3))


def test_the_array_inside_cannot_be_written():
    made = nd.array([1, 2, 3])
    with pytest.raises(ValueError, match="read-only"):
        made.array[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(made)[0] = 5


def test_numpy_gives_a_copy_of_its_own():
    made = nd.array([1, 2, 3])
    for copied in (made.numpy(), made.asnumpy(), np.array(made)):
        copied[0] = 5
    assert made.array.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (2.5, "float64", ()),
        ([], "float64", (0,)),
        ([[1.0], [2.0]], "float64", (2, 1)),
        (np.float32(1.5), "float32", ()),
        (np.zeros((2, 0), "int8"), "int8", (2, 0)),
        (range(3), "int64", (3,)),
    ],
)
def test_python_and_numpy_values_become_tensors(data, dtype, shape):
    made = nd.array(data)
    assert (made.dtype, made.shape) == (dtype, shape)
    np.testing.assert_array_equal(made.numpy(), np.array(data))


def test_another_byte_order_is_converted():
    made = nd.array(np.array([1, 256], ">i4"))
    assert made.array.dtype.isnative
    assert made.array.tolist() == [1, 256]


def test_a_transposed_array_keeps_its_elements():
    data = np.arange(6).reshape(2, 3).T
    np.testing.assert_array_equal(nd.array(data).numpy(), data)


def test_a_tensor_cannot_be_on_another_device():
    with pytest.raises(RelayError, match=r"cannot be on cuda\(0\)"):
        nd.empty((2,), device=nd.Device("cuda"))
    with pytest.raises(RelayError, match="there is no target `tpu`"):
        nd.array([1, 2], nd.Device("tpu"))
    with pytest.raises(RelayError, match="there are no tensors on devices of the target `llvm`"):
        nd.array([1, 2], nd.Device("llvm"))


def test_a_tensor_of_a_tensor_is_a_copy():
    first = nd.array([1, 2], relay.nd.Device("cpu", 1))
    second = nd.array(first)
    assert second.device == nd.Device("cpu", 1)
    assert second.array.tolist() == [1, 2]
    assert not np.shares_memory(first.array, second.array)


def test_a_scalar_of_numpy_can_be_wrapped():
    made = nd.NDArray(np.float32(3))
    assert made.shape == ()
    assert made.item() == 3


# --- other libraries


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "bool"])
def test_tensors_of_torch_come_in_and_go_out(dtype):
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    made = nd.array(tensor)
    assert made.dtype == dtype
    tensor.zero_()
    back = torch.from_dlpack(made)
    assert torch.equal(back, torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)))
    back.zero_()
    assert made.array.any()


def test_a_tensor_with_a_gradient_is_taken_without_it():
    assert nd.array(torch.ones(2, requires_grad=True)).array.tolist() == [1, 1]


def test_dlpack_goes_to_numpy():
    made = nd.array([1.0, 2.0])
    np.testing.assert_array_equal(np.from_dlpack(made), [1, 2])


def test_numpy_sees_a_tensor_as_an_array():
    made = nd.array([1.0, 2.0])
    assert np.shares_memory(np.asarray(made), made.array)
    assert np.shares_memory(np.asarray(made, dtype="float64"), made.array)
    assert np.asarray(made, dtype="int32").dtype == "int32"
    assert not np.shares_memory(np.array(made, dtype="float64"), made.array)
    np.testing.assert_array_equal(np.add(made, made), [2, 4])


def test_a_conversion_is_not_possible_without_a_copy():
    with pytest.raises(ValueError, match="without a copy"):
        nd.array([1.0]).__array__("int32", copy=False)


@pytest.mark.parametrize(
    "data",
    [
        "text",
        b"bytes",
        1j,
        2**70,
        [1, None],
        [[1], [2, 3]],
        {},
        np.array(["a"]),
        np.array([1, 2], "M8[s]"),
        np.longdouble(1),
        torch.ones(2, dtype=torch.complex64),
        torch.ones(2).to_sparse(),
    ],
    ids=repr,
)
def test_what_is_no_tensor_is_refused(data):
    with pytest.raises(RelayError, match=r"tensor|element type"):
        nd.array(data)


# --- small things


def test_empty_is_zero():
    made = nd.empty((2, 3), "int8")
    assert made.dtype == "int8"
    assert not made.array.any()
    assert nd.empty((1,), np.float64).dtype == "float64"
    assert nd.empty((1,), "bfloat16").dtype == "bfloat16"
    with pytest.raises(RelayError, match="unknown element type"):
        nd.empty((1,), "floats")


def test_what_is_empty_can_be_written_and_a_constant_of_it_stays():
    made = nd.empty((2,), "float32")
    constant = relay.Constant(made)
    assert nd.array(np.float32([1, 2])).copyto(made) is made
    np.testing.assert_array_equal(made.numpy(), [1, 2])
    assert not constant.data.array.any()
    made.copyfrom(np.float32([3, 4]))
    copy = made.copyto(nd.cpu())
    made.copyfrom(np.float32([5, 6]))
    np.testing.assert_array_equal(copy.numpy(), [3, 4])
    with pytest.raises(RelayError, match="cannot be written"):
        made.copyfrom([1, 2, 3])


def test_a_shape_has_no_negative_sizes():
    with pytest.raises(RelayError, match="no tensor of shape"):
        nd.empty((2, -1))


def test_a_tensor_behaves_like_a_number_or_a_sequence():
    assert int(nd.array(3)) == 3
    assert float(nd.array(2.5)) == 2.5
    assert bool(nd.array(True))
    made = nd.array([[1, 2], [3, 4]])
    assert len(made) == 2
    assert [row.tolist() for row in made] == [[1, 2], [3, 4]]
    assert made[1, 0] == 3


def test_tensors_and_devices_have_a_readable_form():
    assert repr(nd.array(1)) == "NDArray(array(1), device=cpu(0))"
    assert str(nd.cpu(2)) == "cpu(2)"
    assert nd.cpu() == nd.Device("cpu", 0)
    assert relay.cpu(0) == nd.cpu()


def test_a_tensor_in_a_storage_holds_what_was_written_last():
    storage = nd.Storage(24)
    first, second = storage.tensor(0, (2, 2)), storage.tensor(8, (2, 2))
    assert first.numpy().tolist() == [[0, 0], [0, 0]]
    second.write(nd.array(np.array([[1, 2], [3, 4]], "float32")))
    assert first.numpy().tolist() == [[0, 0], [1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        first.array[0] = 5


@pytest.mark.parametrize("dtype", ["bool", "int8", "int4", "float16", "bfloat16", "float64"])
def test_a_storage_holds_elements_of_every_type(dtype):
    values = nd.array(np.array([[1, 0, 1]]).astype(relay.dtypes.to_numpy(dtype)))
    tensor = nd.Storage(32).tensor(3, (1, 3), dtype)
    tensor.write(values)
    assert tensor.dtype == dtype
    assert tensor.numpy().tolist() == values.numpy().tolist()


def test_a_tensor_may_be_written_over_itself():
    storage = nd.Storage(16)
    whole = storage.tensor(0, (4,))
    whole.write(nd.array(np.arange(4, dtype="float32")))
    storage.tensor(4, (3,)).write(storage.tensor(0, (3,)))
    assert whole.numpy().tolist() == [0, 0, 1, 2]


def test_a_storage_keeps_its_bounds():
    storage = nd.Storage(8)
    assert storage.tensor(8, (0, 3)).shape == (0, 3)
    for offset, shape in ((0, (3,)), (-4, (1,)), (8, ())):
        with pytest.raises(RelayError, match="do not lie in a storage of 8 bytes"):
            storage.tensor(offset, shape)
    with pytest.raises(RelayError, match="cannot be written"):
        storage.tensor(0, (2,)).write(nd.array([1, 2]))


def test_a_storage_that_was_given_back_holds_nothing():
    storage = nd.Storage(8)
    tensor = storage.tensor(0, (2,))
    storage.free()
    assert storage.size == 0
    assert tensor.numpy().tolist() == [0, 0]  # what is out there stays readable
    with pytest.raises(RelayError, match="given back"):
        storage.tensor(0, (0,))


def test_devices_are_found_by_name_or_target():
    assert relay.device("llvm", 0) == relay.device("cpu") == relay.cpu(0)
    assert relay.device("llvm -mcpu=native", 1) == relay.cpu(1)
    assert relay.device("cuda", 0) == relay.cuda(0)
    with pytest.raises(RelayError, match="there is no device 'tpu'"):
        relay.device("tpu", 0)
