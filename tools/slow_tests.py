"""Add the tests that take too long for `pytest -m quick` to `tests/slow.txt`.

    python tools/slow_tests.py        those that take more than 0.3 seconds of the processor
    python tools/slow_tests.py 0.1

Lines of that file are test files or tests, relative to `tests`; what is no longer there is dropped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "tests"
LIST = TESTS / "slow.txt"


class Times:
    """A plugin of pytest: the seconds that each test takes, with the processes it starts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = sum(os.times()[:4])
        result = yield
        name = item.nodeid.partition("[")[0].removeprefix("tests/")
        taken = sum(os.times()[:4]) - before
        self.seconds[name] = max(taken, self.seconds.get(name, 0.0))
        return result


def main() -> int:
    most = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
    times = Times()
    outcome = pytest.main(["-m", "quick", str(TESTS)], plugins=[times])
    known = LIST.read_text(encoding="utf-8").split()
    kept = [name for name in known if (TESTS / name.partition("::")[0]).exists()]
    slow = [name for name, seconds in times.seconds.items() if seconds > most]
    LIST.write_text("\n".join(sorted({*kept, *slow})) + "\n", encoding="utf-8")
    return int(outcome)


if __name__ == "__main__":
    sys.exit(main())
