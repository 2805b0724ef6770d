"""What an executable says about its kernels."""

from relay.executors.report import Kernels
from relay.lower.kernel import Kernel, TensorSpec


def kernel(name, *shapes):
    tensors = [TensorSpec(shape, "float32") for shape in shapes]
    return Kernel(name, tuple(tensors[:-1]), tuple(tensors[-1:]), "", operators=("tanh",))


def test_bytes_are_what_a_call_reads_and_writes():
    (found,) = Kernels.of([kernel("a", (2, 3), (6,))])
    assert found.bytes == 48


def test_how_much_a_kernel_does_is_not_known_when_sizes_show_at_run_time():
    listed = Kernels.of([kernel("a", ("steps", 3), ("steps", 3)), kernel("b", (2,), (2,))])
    assert [one.bytes for one in listed] == [None, 16]
    first, second = str(listed).splitlines()[1:]
    assert first.split() == ["a", "1", "?", "?", "tanh"]
    assert second.split() == ["b", "1", "16", "B", "0", "tanh"]
