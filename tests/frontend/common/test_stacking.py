"""Rows that come one at a time, as one tensor."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

import relay
from relay.frontend.common.stacking import BLOCK
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import of_graph, value

# around the sizes at which rows become a chunk, and four chunks become one
COUNTS = sorted({n + d for n in (1, BLOCK, 4 * BLOCK, 16 * BLOCK) for d in (-1, 0, 1)})


def copied(row: tuple[int, ...]) -> onnx.ModelProto:
    """What a scan goes along, collected again."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["r"], ["s"])],
        "body",
        [onnx.ValueInfoProto(name="r")],
        [onnx.ValueInfoProto(name="s")],
    )
    node = helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)
    return of_graph([node], [value("x", "int64", ("n", *row))], [onnx.ValueInfoProto(name="y")])


@pytest.mark.parametrize("row", [(), (3,), (2, 0)])
def test_rows_come_out_in_their_order(row: tuple[int, ...]) -> None:
    exe = relay.compile(*from_onnx(copied(row)))
    for count in COUNTS:
        x = np.arange(count * int(np.prod(row))).reshape(count, *row)
        np.testing.assert_array_equal(exe(x), x, strict=True)


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_every_engine_collects_rows(kind: str) -> None:
    mod, params = from_onnx(copied((2,)))
    run = relay.create_executor(kind, mod, params=params).evaluate()
    for count in (0, BLOCK - 1, 4 * BLOCK + 1):
        x = np.arange(2 * count).reshape(count, 2)
        np.testing.assert_array_equal(run(x).numpy(), x, strict=True)
