"""Tiered compilation: versions for sizes that were seen again, with the same results to the bit."""

import logging

import numpy as np
import pytest

import relay
from relay.errors import LowerError, RelayError
from relay.target.llvm.executable import tiers

DENSE = """
def @main[n](%x: Tensor[(n, 24), float32], %w: Tensor[(37, 24), float32]) {
  nn.softmax(nn.relu(nn.dense(%x, %w)))
}
"""
IMAGE = """
def @main[h, w](%x: Tensor[(1, 3, h, w), float32], %w: Tensor[(20, 3, 3, 3), float32]) {
  let %y = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=20, kernel_size=[3, 3]));
  let %p = nn.max_pool2d(%y, pool_size=[2, 2], strides=[2, 2]);
  (mean(%p, axis=[2, 3]), layout_transform(%p, src_layout="NCHW", dst_layout="NHWC"), sum(%y))
}
"""
VALUES = """
def @main[n](%x: Tensor[(n,), float32]) {
  let %places = argwhere(%x);
  add(cast(%places, dtype="float32"), 1f)
}
"""
W = np.random.default_rng(0).standard_normal((37, 24), np.float32)
TAPS = np.random.default_rng(1).standard_normal((20, 3, 3, 3), np.float32)


def compiled(text, params=None, **options):
    source = text if text.startswith("#") else f'#[version = "0.0.5"]\n{text}'
    return relay.compile(relay.parse(source), params or {}, tiered=True, **options)


def normal(*shape):
    return np.random.default_rng(2).standard_normal(shape, np.float32)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def bits(result):
    return [np.asarray(one).tobytes() for one in leaves(result)]


@pytest.mark.parametrize(
    ("text", "params", "shapes"),
    [
        (DENSE, {"w": W}, [(1, 24), (13, 24)]),
        (IMAGE, {"w": TAPS}, [(1, 3, 11, 18)]),
    ],
    ids=["dense", "image"],
)
def test_results_are_the_same_to_the_bit(text, params, shapes):
    for threads in (1, 2):
        exe = compiled(text, params, threads=threads)
        before = [bits(exe(normal(*shape))) for shape in shapes]
        for shape in shapes:
            exe.specialize(normal(*shape))
        assert all(count > 0 for count in exe._tiers.counts) and len(exe._tiers.counts) > 0
        assert [bits(exe(normal(*shape))) for shape in shapes] == before
        assert exe.live_objects == exe.leaked_objects == 0


def test_a_version_is_made_in_the_background_when_sizes_are_seen_again():
    exe = compiled(DENSE, {"w": W})
    first = bits(exe(normal(5, 24)))
    assert exe._tiers.counts == []
    assert bits(exe(normal(5, 24))) == first
    exe._tiers.wait()
    assert len(exe._tiers.counts) == 1
    assert bits(exe(normal(5, 24))) == first
    np.testing.assert_allclose(exe(normal(6, 24)).sum(1), 1, rtol=1e-5)


def test_sizes_that_follow_from_values_may_be_others():
    exe = compiled(VALUES)
    exe.specialize(np.array([1, 0, 2, 3], np.float32))
    for x in ([1, 0, 2, 3], [0, 0, 0, 4], [0, 0, 0, 0], [1, 2, 3, 4]):
        found = exe(np.array(x, np.float32))
        np.testing.assert_array_equal(found, np.argwhere(x) + 1)


def test_there_are_only_so_many_versions(monkeypatch):
    monkeypatch.setattr(tiers, "MOST_VERSIONS", 2)
    exe = compiled(DENSE, {"w": W})
    for n in (1, 2, 3):
        exe.specialize(normal(n, 24))
    assert len(exe._tiers.counts) == 2
    for n in (1, 2, 3):
        np.testing.assert_allclose(exe(normal(n, 24)).sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("error", "levels"),
    [(LowerError.of("no code for these sizes"), []), (ZeroDivisionError(), ["WARNING"])],
)
def test_what_goes_wrong_in_the_background_changes_nothing(monkeypatch, caplog, error, levels):
    def codes(wanted):
        raise error

    caplog.set_level(logging.WARNING, logger="relay")
    exe = compiled(DENSE, {"w": W})
    monkeypatch.setattr(exe._tiers.specializer, "codes", codes)
    first = bits(exe(normal(5, 24)))
    for _ in range(3):
        assert bits(exe(normal(5, 24))) == first
        exe._tiers.wait()
    assert exe._tiers.counts == []
    # a fault of the compiler is seen, with where it comes from
    assert [one.levelname for one in caplog.records if one.levelno > logging.INFO] == levels
    assert all(one.exc_info for one in caplog.records if one.levelno > logging.INFO)


def test_new_weights_are_used_by_every_version():
    exe = compiled(DENSE, {"w": W})
    exe.specialize(normal(4, 24))
    exe.set_params(w=2 * W)
    other = compiled(DENSE, {"w": 2 * W})
    assert bits(exe(normal(4, 24))) == bits(other(normal(4, 24)))


def test_executables_without_versions_say_so():
    exe = relay.compile(relay.parse(f'#[version = "0.0.5"]\n{DENSE}'), {"w": W})
    with pytest.raises(RelayError, match="tiered=True"):
        exe.specialize(normal(4, 24))
    static = compiled(DENSE.replace("[n]", "").replace("(n, 24)", "(2, 24)"), {"w": W})
    static.specialize(normal(2, 24))  # made for its sizes as it is
