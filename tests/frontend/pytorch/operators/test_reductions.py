"""Reductions, scans and order agree with torch."""

from __future__ import annotations

import torch

from tests.support.torch_agreement import Functions, agree

_NAMES = """
sum mean prod amax amin max min argmax argmin std var var_mean count_nonzero norm nansum
aminmax median
"""

# of a tensor (n, 4, m)
OPEN: Functions = {name: getattr(torch, name) for name in _NAMES.split()} | {
    "sum of axes": lambda x: x.sum((0, -1), keepdim=True),
    "mean of an axis": lambda x: x.mean(0),
    "max of an axis": lambda x: x.max(1),
    "min of an axis": lambda x: x.min(-1, keepdim=True),
    "argmax of an axis": lambda x: x.argmax(0),
    "std of axes": lambda x: x.std((0, 1), correction=2),
    "var without axes": lambda x: x.var(unbiased=False),
    "std_mean": lambda x: torch.std_mean(x, 2, correction=1, keepdim=True),
    "logsumexp": lambda x: x.logsumexp(-1),
    "any": lambda x: (x > 1).any(0),
    "all": lambda x: (x > -9).all(),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, 3, 1),
    "largest": lambda x: torch.linalg.vector_norm(x, float("inf"), (0, 1)),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(1),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(1),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "median of an axis": lambda x: x.median(1),
    "kthvalue": lambda x: x.kthvalue(2, 1),
    "sort": lambda x: x.sort(0, descending=True),
    "argsort": lambda x: x.argsort(2),
    "topk": lambda x: x.topk(3, 1),
    "smallest": lambda x: x.topk(2, 1, largest=False),
    "diff": lambda x: x.diff(dim=1),
    "trapezoid": lambda x: torch.trapezoid(x, dx=0.5, dim=1),
    "renorm": lambda x: x.renorm(2, 1, 0.5),
    "sum of halves": lambda x: x.half().sum().float(),
}


def test_reductions_of_open_axes_agree() -> None:
    others = [(torch.randn(7, 4, 5),)]
    agree(OPEN, torch.randn(4, 4, 6), others=others, open_axes=[{0: "n", 2: "m"}])


def test_integers_and_scalars_are_reduced_as_by_torch() -> None:
    names = ("sum", "prod", "max", "argmin", "count_nonzero", "cumsum", "mode", "any", "sort")
    functions: Functions = {
        name: (lambda x, name=name: getattr(torch, name)(x, 0))
        if name in ("cumsum", "mode", "sort")
        else getattr(torch, name)
        for name in names
    }
    agree(functions, torch.tensor([3, 1, 3, 0, 1, 7, 7, 7], dtype=torch.int32))
    agree(functions, torch.tensor(5))


def test_nan_is_the_largest_and_is_left_out_on_demand() -> None:
    data = torch.tensor([[1.0, torch.nan, 3.0, 2.0], [4.0, 5.0, -1.0, 0.5]])
    agree(
        {
            "max": lambda x: x.max(1),
            "median": lambda x: x.median(1),
            "nanmedian": lambda x: x.nanmedian(1),
            "nanmean": lambda x: x.nanmean(1),
            "sort": lambda x: x.sort(1),
            "cummax": lambda x: x.cummax(1),
            "amin": lambda x: x.amin(1),
        },
        data,
    )


def test_unique_elements_and_places_agree() -> None:
    agree(
        {
            "unique": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
            "rows": lambda x: torch.unique(x, dim=0, return_counts=True),
            "runs": lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
            "searchsorted": lambda x: torch.searchsorted(torch.tensor([0, 2, 5]), x, right=True),
            "bucketize": lambda x: torch.bucketize(x, torch.tensor([1, 3])),
            "isin": lambda x: torch.isin(x, torch.tensor([2, 7])),
            "histc": lambda x: torch.histc(x.float(), 4, 0, 8),
            "bincount": lambda x: torch.bincount(x.flatten(), minlength=9),
            "nonzero": lambda x: torch.nonzero(x),
        },
        torch.tensor([[2, 2, 0], [5, 7, 7], [2, 2, 0]]),
    )
