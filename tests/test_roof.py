"""The roof of a machine is two positive numbers, and a kernel's least time follows from them."""

from relay.roof import Roof, measure


def test_the_roof_is_measured():
    found = measure(threads=1)
    assert found.flops > 0 and found.bandwidth > 0 and found.threads == 1


def test_the_slower_of_the_two_decides():
    roof = Roof(flops=100.0, bandwidth=10.0, threads=1)
    assert roof.seconds(1000, 10) == 10
    assert roof.seconds(10, 1000) == 100
