"""Calibration data: any iterable of batches.

A batch is the inputs by name, a list or tuple of them, or the array of a network with one input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from relay import dtypes, nd
from relay.errors import DiagnosticError, RelayError, did_you_mean
from relay.ir.expr import Var
from relay.ir.types import TensorType
from relay.progress import Progress, silent


class Dataset:
    """An iterable of batches, which is read once by each use."""

    def __init__(self, given: Iterable[Any]) -> None:
        if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
            raise DiagnosticError.of(
                "a dataset is an iterable of batches",
                expected='[{"data": array}, …]',
                found=type(given).__name__,
                hint="a list of one batch is a dataset" if isinstance(given, Mapping) else None,
            )
        self._given = given

    def __iter__(self) -> Iterator[Any]:
        return iter(self._given)

    def batches(
        self, params: Sequence[Var], task: str, progress: Progress = silent
    ) -> Iterator[dict[str, np.ndarray]]:
        """The batches, checked, as arrays by the names of parameters."""
        total = len(self._given) if isinstance(self._given, Sized) else 0
        number = -1
        for number, batch in enumerate(self._given):
            progress(task, number, total)
            yield _checked(_by_name(batch, params, number), params, number)
        if number < 0:
            raise RelayError(
                "the dataset is empty: ranges of data are found by running the network on examples "
                "of them (a generator that was read before has nothing left)"
            )


def _by_name(batch: Any, params: Sequence[Var], number: int) -> dict[str, Any]:
    names = [param.name_hint for param in params]
    if isinstance(batch, Mapping):
        for name in batch:
            if name not in names:
                raise DiagnosticError.of(
                    f"batch {number} of the dataset has `{name}`, which is no input",
                    expected=", ".join(names),
                    hint=did_you_mean(str(name), names),
                )
        given = dict(batch)
    else:
        several = batch if isinstance(batch, tuple | list) else (batch,)
        if len(several) != len(names):
            raise DiagnosticError.of(
                f"batch {number} of the dataset has another number of inputs",
                expected=f"{len(names)}: {', '.join(names)}",
                found=f"{len(several)}",
            )
        given = dict(zip(names, several, strict=True))
    if missing := [name for name in names if name not in given]:
        raise DiagnosticError.of(
            f"batch {number} of the dataset has no `{missing[0]}`",
            expected=", ".join(names),
            found=", ".join(map(str, given)) or "nothing",
        )
    return given


def _checked(given: Mapping[str, Any], params: Sequence[Var], number: int) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for param in params:
        name = param.name_hint
        wanted = param.checked_type
        try:
            kind = dtypes.to_numpy(wanted.dtype if isinstance(wanted, TensorType) else "float32")
            value = nd.as_tensor(given[name], kind)
        except RelayError as error:
            raise RelayError(f"batch {number} of the dataset, `{name}`: {error}") from None
        if isinstance(wanted, TensorType) and not _fits(value, wanted):
            raise DiagnosticError.of(
                f"batch {number} of the dataset: `{name}` does not fit",
                expected=str(wanted),
                found=str(TensorType(value.shape, str(value.dtype))),
            )
        found[name] = value
    return found


def _fits(value: np.ndarray, wanted: TensorType) -> bool:
    return (
        value.dtype == dtypes.to_numpy(wanted.dtype)
        and value.ndim == len(wanted.shape)
        and all(
            not isinstance(extent, int) or extent == size
            for size, extent in zip(value.shape, wanted.shape, strict=True)
        )
    )
