"""Tests of all samples of every operator: one test for each operator."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from relay.ir.expr import op_names
from relay.op.opdef import OpDef, Sample, get
from tests.support.looping import naming

WITH_SAMPLES = [name for name in op_names() if get(name).samples]


def every_sample(test: Callable[[OpDef, Sample], None]) -> Callable[[str], None]:
    """The test is made with every sample of an operator."""

    @pytest.mark.parametrize("name", WITH_SAMPLES)
    def of_operator(name: str) -> None:
        op = get(name)
        for number, sample in enumerate(op.samples):
            with naming(f"sample {number}"):
                test(op, sample)

    of_operator.__name__, of_operator.__doc__ = test.__name__, test.__doc__
    return of_operator
