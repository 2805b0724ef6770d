"""Many cases in one test, where one item for each would take longer than what is tested.

The first case that fails ends the test and is named below its error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


@contextmanager
def naming(case: str) -> Iterator[None]:
    """Errors say which case they are of."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"for {case}")
        raise


def each(names: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What `pytest.mark.parametrize` does, in one test."""
    parameters = [name.strip() for name in names.split(",")]
    cases = [value if len(parameters) > 1 else (value,) for value in values]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def looped(**given: Any) -> None:
            for case in cases:
                named = dict(zip(parameters, case, strict=True))
                with naming(", ".join(f"{name} = {value}" for name, value in named.items())):
                    test(**given, **named)

        rest = [one for name, one in signature.parameters.items() if name not in parameters]
        looped.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return looped

    return decorate
