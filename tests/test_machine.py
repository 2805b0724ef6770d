"""The roof of a machine is a few positive numbers, and a kernel's least time follows from them."""

from __future__ import annotations

import numpy as np

import relay
from relay.executors.roof import Roof
from relay.testing import mlp

ROOF = Roof(100.0, 10.0, 1, ((64, 50.0), (640, 20.0), (6400, 10.0)))


def test_the_roof_is_measured():
    found = relay.machine.measure(threads=1)
    assert found.flops > 0 and found.bandwidth > 0 and found.threads == 1
    assert all(rate > 0 for _, rate in found.bandwidths)


def test_the_slower_of_the_two_decides():
    assert ROOF.seconds(1000, 10) == 10
    assert ROOF.seconds(10, 6400) == 640


def test_what_a_cache_holds_has_the_bandwidth_of_the_cache():
    assert [ROOF.bandwidth_of(size) for size in (1, 64, 65, 640, 641, 10**9)] == [
        50, 50, 20, 20, 10, 10,
    ]  # fmt: skip
    slow = Roof(1.0, 10.0, 1, ((64, 5.0),))  # a small sum is measured with less precision
    assert slow.bandwidth_of(8) == 10


def test_profiles_say_how_near_to_the_roof_kernels_are():
    exe = relay.compile(*mlp.get_workload(batch_size=2), threads=1)
    plain, found = exe.profile(repeat=1), exe.profile(repeat=1, roof=ROOF)
    assert "of roof" not in str(plain) and "of roof" in str(found)
    assert "of roof" in found._repr_html_()
    for step in found:
        part = step.of_roof(ROOF)
        least = ROOF.seconds(step.kernel.flops, step.kernel.bytes)
        np.testing.assert_allclose(part, least / step.seconds)
