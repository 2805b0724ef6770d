"""Reductions, and sums that run."""

from __future__ import annotations

from math import prod

from tests.frontend.onnx.random_models.making import INTEGERS, LARGE, Maker, Nothing, Rules, Tensor

rule = Rules()


@rule(4)
def reduction(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and (one.is_float or one.dtype in INTEGERS[:2]))
    names = ["ReduceSum", "ReduceMax", "ReduceMin"]
    if data.is_float:
        names += ["ReduceMean", "ReduceL2", "ReduceL1", "ReduceSumSquare"]
        if data.large <= 10:
            names.append("ReduceLogSumExp")
    name = make.choices.choice(names)
    axes = sorted({make.axis(data) for _ in range(make.choices.number(1, 2))})
    keep = make.yes()
    kept = [1 if axis in axes else extent for axis, extent in enumerate(data.shape)]
    shape = kept if keep else [e for axis, e in enumerate(data.shape) if axis not in axes]
    count = prod(data.shape[axis] for axis in axes)
    exact = data.exact and name in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1")
    grows = {"ReduceSum", "ReduceL1", "ReduceL2"}
    large = data.large * count if name in grows else data.large
    large = data.large**2 * count if name == "ReduceSumSquare" else large
    if large > LARGE or (data.dtype == "float16" and large > 1000):
        raise Nothing
    since = 13 if name == "ReduceSum" else 18
    signed = [make.signed(axis, data.rank) for axis in axes]
    found = make.with_axes(name, data, signed, since, keepdims=int(keep))
    make.keep(Tensor(found, data.dtype, tuple(shape), exact and data.dtype != "float16", large + 1))


@rule()
def position(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.exact and one.dtype in ("float32", "int32"))
    axis = make.axis(data)
    keep = make.yes()
    shape = [1 if at == axis else e for at, e in enumerate(data.shape) if keep or at != axis]
    make.add(
        make.choices.choice(["ArgMax", "ArgMin"]), [data], "int64", shape, True, 5,
        axis=make.signed(axis, data.rank), keepdims=int(keep),
    )  # fmt: skip


@rule()
def running(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "int64", "int32"))
    axis = make.axis(data)
    where_to = make.numbers(make.signed(axis, data.rank))
    make.add(
        "CumSum", [data, where_to], data.dtype, data.shape, data.exact,
        data.large * data.shape[axis], exclusive=int(make.yes()), reverse=int(make.yes()),
    )  # fmt: skip
