"""Progress of a compilation: which stage runs, and how far it is.

    relay.compile(model, progress=True)      a bar on stderr while it runs
    relay.compile(model, progress=print)     kernels 3 20

A stage is `import`, `passes`, `kernels`, `code` or `weights`; of `kernels` it is known how many
there are, of the others the total is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called with the stage, what is done of it, and how much there is in all. It may be called from
# other threads, one at a time.
Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """No report."""


@contextmanager
def reported(progress: bool | Progress, title: str = "compiling") -> Iterator[Progress]:
    """The function to call during the block; True is a bar on stderr."""
    if progress is False or progress is None:
        yield silent
    elif progress is True:
        with _bar(title) as made:
            yield made
    elif callable(progress):
        yield progress
    else:
        from relay.errors import RelayError

        raise RelayError(
            "`progress` is True, False or a function of the stage, what is done and how much "
            f"there is, found {progress!r}"
        )


@contextmanager
def _bar(title: str) -> Iterator[Progress]:
    """A bar that disappears at the end; where there is no terminal, a line for each stage."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield _lines(title, console.file.write)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)

        def show(stage: str, done: int = 0, total: int = 0) -> None:
            bar.update(task, description=f"{title}: {stage}", completed=done, total=total or None)

        yield show


def _lines(title: str, write: Callable[[str], object]) -> Progress:
    """Writes the name of each stage once."""
    seen: list[str] = []

    def show(stage: str, done: int = 0, total: int = 0) -> None:
        if seen[-1:] != [stage]:
            seen.append(stage)
            write(f"{title}: {stage}\n")

    return show
