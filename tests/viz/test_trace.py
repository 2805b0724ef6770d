"""A run as events in time."""

import numpy as np

import relay
from relay.testing import mlp
from relay.viz.trace import chrome, trace


def nested(events):
    """Every event lies inside of the last one before it that is less deep."""
    stack = []
    for event in events:
        del stack[event.depth :]
        assert len(stack) == event.depth
        if stack:
            above = stack[-1]
            assert above.start <= event.start
            assert event.start + event.seconds <= above.start + above.seconds + 1e-9
        stack.append(event)
    return True


def test_straight_line_code_is_one_function_with_kernels():
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    exe = relay.compile(module, params)
    events = trace(exe)
    assert [event.name for event in events[1:]] == [k.name for k in exe.bound.kernels]
    assert nested(events) and not events[0].kernel and all(e.kernel for e in events[1:])
    assert chrome(events)[1]["dur"] == events[1].seconds * 1e6


def test_calls_of_a_recursive_program_are_nested():
    module = relay.parse(
        """#[version = "0.0.5"]
    def @power(%x: Tensor[(4), float32], %n: int32) -> Tensor[(4), float32] {
      if (less(%n, 1)) { %x } else { multiply(@power(%x, subtract(%n, 1)), exp(%x)) }
    }
    def @main(%x: Tensor[(4), float32], %n: int32) -> Tensor[(4), float32] { @power(%x, %n) }
    """
    )
    events = trace(relay.compile(module), np.ones(4, np.float32), np.int32(5))
    assert nested(events)
    deep = [event for event in events if event.name == "power"]
    assert len(deep) >= 5 and max(event.depth for event in events) >= 5
    assert sum(event.kernel for event in events) >= 5
