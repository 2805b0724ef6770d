"""Winograd's algorithm: where it is used, and that its results are those of the direct sum."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import relay
from relay.lower.kernel import Lowered, Options
from relay.lower.lower import lower_static
from relay.target.llvm.schedules.winograd import ERROR, WINOGRAD
from relay.target.target import Target
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, WIDEST
from tests.target.llvm.schedules.outline import function

DIRECT = Options(exact=True)


def blocked(
    inputs: int,
    outputs: int,
    height: int,
    width: int,
    *,
    batch: int = 1,
    padding: str = "1, 1, 1, 1",
) -> str:
    """A convolution in blocks of 16 channels, and what follows it in a residual network."""
    top, left, bottom, right = map(int, padding.split(","))
    sizes = f"{height + top + bottom - 2}, {width + left + right - 2}"
    return f"""(%x: Tensor[({batch}, {inputs // 16}, {height}, {width}, 16), float32],
        %w: Tensor[({outputs}, {inputs}, 3, 3), float32],
        %b: Tensor[({outputs // 16}, 1, 1, 16), float32],
        %r: Tensor[({batch}, {outputs // 16}, {sizes}, 16), float32]) {{
      nn.relu(add(add(nn.contrib_conv2d_NCHWc(%x, %w, padding=[{padding}], channels={outputs},
        kernel_size=[3, 3], data_layout="NCHW16c", kernel_layout="OIHW"), %b), %r))
    }}"""


def channels_last(inputs: int, outputs: int, height: int, width: int) -> str:
    return f"""(%x: Tensor[(1, {height}, {width}, {inputs}), float32],
        %w: Tensor[(3, 3, {inputs}, {outputs}), float32]) {{
      nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels={outputs}, kernel_size=[3, 3],
        data_layout="NHWC", kernel_layout="HWIO"))
    }}"""


def lowered(source: str, target: Target = WIDEST, options: Options | None = None) -> Lowered:
    """The kernels of a function whose second and third parameters are constant."""
    made = function(source)
    known = [i in (1, 2) for i in range(len(made.params))]
    return lower_static(made, known, target, options)


def algorithm(source: str, target: Target = WIDEST, options: Options | None = None) -> str:
    return lowered(source, target, options).steps[-1].kernel.algorithm


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


# --- results

# tiles that end with the image and beyond it, blocks for threads and one block, several images
SIZES = [(32, 16, 13, 10), (48, 32, 9, 31), (16, 16, 30, 6)]


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_results_are_those_of_the_direct_sum(target: Target) -> None:
    cases = [blocked(*sizes) for sizes in SIZES]
    cases.append(blocked(16, 16, 11, 14, batch=2, padding="0, 2, 1, 0"))
    made = [lowered(case, target) for case in cases]
    assert [one.steps[-1].kernel.algorithm for one in made] == [WINOGRAD] * len(cases)
    batch = Batch(made, target)
    for number, case in enumerate(cases):
        arrays = [normal(*param.type_annotation.concrete_shape) for param in function(case).params]
        (found,) = batch.run(number, arrays).results
        x, weight, bias, rest = (torch.from_numpy(array).double() for array in arrays)
        image = x.permute(0, 1, 4, 2, 3).flatten(1, 2)
        if number == len(SIZES):
            image = torch.nn.functional.pad(image, (2, 0, 0, 1))
        pad = int(number < len(SIZES))
        sums = torch.nn.functional.conv2d(image, weight, padding=pad)
        whole = sums.unflatten(1, (-1, 16)).permute(0, 1, 3, 4, 2) + bias + rest
        windows = torch.nn.functional.conv2d(image**2, torch.ones_like(weight[:1]), padding=pad)
        most = ERROR * float((windows.max() * (weight**2).sum((1, 2, 3)).max()).sqrt())
        np.testing.assert_allclose(found, whole.relu(), rtol=1e-6, atol=most)
        (shared,) = batch.run(number, arrays, threads=3).results
        assert shared.tobytes() == found.tobytes()


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_channels_may_be_last(target: Target) -> None:
    source = channels_last(32, 48, 18, 15)
    made = lowered(source, target)
    assert made.steps[-1].kernel.algorithm == WINOGRAD
    x, weight = normal(1, 18, 15, 32), normal(3, 3, 32, 48)
    (found,) = Batch([made], target).run(0, [x, weight]).results
    image, filters = (torch.from_numpy(one).double() for one in (x, weight))
    sums = torch.nn.functional.conv2d(
        image.permute(0, 3, 1, 2), filters.permute(3, 2, 0, 1), padding=1
    )
    np.testing.assert_allclose(found, sums.permute(0, 2, 3, 1).relu(), rtol=1e-5, atol=5e-5)


def test_rounding_errors_are_a_few_times_those_of_the_direct_sum() -> None:
    source = channels_last(256, 16, 16, 16)
    x, weight = np.maximum(normal(1, 16, 16, 256), 0), normal(3, 3, 256, 16)
    batch = Batch([lowered(source), lowered(source, options=DIRECT)], WIDEST)
    image, filters = (torch.from_numpy(one).double() for one in (x, weight))
    sums = torch.nn.functional.conv2d(
        image.permute(0, 3, 1, 2), filters.permute(3, 2, 0, 1), padding=1
    )
    wanted = sums.permute(0, 2, 3, 1).relu().numpy()
    errors = [np.abs(batch.run(i, [x, weight]).results[0] - wanted).max() for i in range(2)]
    assert errors[0] < 5 * errors[1]


# --- where it is used


def test_it_is_used_where_it_is_faster() -> None:
    for sizes in ((64, 64, 56, 56), (128, 128, 28, 28), (256, 256, 14, 14), (16, 16, 20, 20)):
        assert algorithm(blocked(*sizes), Target.x86("avx512")) == WINOGRAD, sizes
    # small images read the weights more often than they use them
    for sizes in ((512, 512, 7, 7), (64, 64, 4, 4)):
        assert algorithm(blocked(*sizes), Target.x86("avx512")) == "", sizes


def test_nothing_but_floats_in_steps_of_one_through_constant_windows_of_three() -> None:
    plain = channels_last(32, 32, 16, 16)
    assert algorithm(plain) == WINOGRAD
    assert algorithm(plain.replace("kernel_size", "strides=[2, 2], kernel_size")) == ""
    assert algorithm(plain.replace("kernel_size", "dilation=[2, 2], kernel_size")) == ""
    assert algorithm(plain.replace("float32", "float64")) == ""
    assert algorithm(channels_last(3, 32, 16, 16)) == ""
    wide = plain.replace("(3, 3, 32", "(3, 5, 32").replace("[3, 3]", "[3, 5]")
    assert algorithm(wide) == ""
    made = lower_static(function(plain), [False, False], WIDEST)
    assert made.steps[-1].kernel.algorithm == ""


def test_exact_results_and_low_levels_do_without() -> None:
    source = '#[version = "0.0.5"]\ndef @main' + channels_last(16, 16, 16, 16)
    params = {"w": normal(3, 3, 16, 16)}
    usual = relay.compile(relay.parse(source), params)
    assert [kernel.algorithm for kernel in usual.kernels] == [WINOGRAD]
    assert usual.kernels[0].approximate and WINOGRAD in str(usual.kernels)
    for options in ({"exact": True}, {"level": 2}):
        made = relay.compile(relay.parse(source), params, **options)
        assert [kernel.algorithm for kernel in made.kernels] == [""]
        assert not made.kernels[0].approximate
