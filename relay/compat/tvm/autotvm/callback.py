"""`tvm.autotvm.callback`: what is done with results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from relay.cache import tuned

Callback = Callable[[Any, Sequence[Any], Sequence[Any]], None]


def log_to_file(file_out: str | os.PathLike[str]) -> Callback:
    """Append results to a file, for `apply_history_best`."""

    def write(tuner: Any, tasks: Sequence[Any], results: Sequence[tuned.Result]) -> None:
        with open(file_out, "a", encoding="utf-8") as file:
            file.writelines(f"{tuned.text(result)}\n" for result in results)

    return write


def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """Print what was found."""

    def show(tuner: Any, tasks: Sequence[Any], results: Sequence[tuned.Result]) -> None:
        for result in results:
            found = f"{result.speedup:.2f} times as fast as by the rules"
            print(f"{prefix} {len(result.tried)} plans tried, {found}")

    return show
