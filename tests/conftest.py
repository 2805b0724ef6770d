"""What all tests share: which of them a run takes, Hypothesis profiles, a cache of kernels that is
not the user's, and the table of what is tried of every operator.

    pytest -m quick   unit tests of the parts in `QUICK`, less deep and with fewer examples
    pytest            everything but what is marked with `full`; of what is marked with `rotate(n)`
                      one in n, another part with every commit (`tests/support/sampling.py`)
    pytest -m full    everything

The Hypothesis profile `ci` is small and always tries the same examples, `quick` fewer of them;
`full` searches further: it is that of `-m full`, and of `--hypothesis-profile=full`.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from relay.errors import EvaluationError
from relay.settings import CHECKED
from tests.support import sampling

HERE = Path(__file__).parent
EXHAUSTIVE = 3000  # seconds that a test marked `full` or `real` may take
# The folders whose tests are quick, beside the files of this one, but for those in `slow.txt`.
QUICK = (
    "analysis/",
    "architecture/",
    "check/",
    "dataflow_pattern/",
    "docs/",
    "frontend/python/",
    "interpreter/",
    "ir/",
    "op/",
    "parser/",
    "te/",
    "transform/",
)

settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=25,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=5)
settings.register_profile(
    "full",
    max_examples=500,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def kernels_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels are kept in a folder of this run, which its processes share."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELAY_CACHE_DIR", str(folder / "kernels"))
        yield


def pytest_configure(config: pytest.Config) -> None:
    sampling.RUN.seed = sampling.find_seed()
    sampling.RUN.everything = _is_full(config) or any("::" in given for given in config.args)
    sampling.RUN.quick = config.getoption("markexpr", "") == "quick"
    if _is_full(config):
        settings.load_profile("full")
    elif sampling.RUN.quick:
        settings.load_profile("quick")


def _is_full(config: pytest.Config) -> bool:
    expression = config.getoption("markexpr", "")
    return "full" in expression and "not full" not in expression


@cache
def _slow() -> set[str]:
    """The files and tests that take too long for a quick run (`tools/slow_tests.py`)."""
    return set((HERE / "slow.txt").read_text(encoding="utf-8").split())


@cache
def _is_quick(path: Path) -> bool:
    """Whether a file belongs to the quick tests, or some in a folder do."""
    name = path.relative_to(HERE).as_posix()
    if name in _slow():
        return False
    beside = path.parent == HERE and path.is_file()
    return beside or any(name.startswith(part) or part.startswith(name) for part in QUICK)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A quick run does not look at other files, which would take longer than some of its tests."""
    inside = HERE in collection_path.parents
    return True if sampling.RUN.quick and inside and not _is_quick(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is not in the part of this run is marked as `full`, and everything is in a full run.
    Exhaustive tests may take longer than the others, unless they say how long themselves. With
    `RELAY_CHECKED=1` a test about indices outside of their axes must end in an error."""
    for item in _left_out(items):
        item.add_marker("full")
    checked, full = CHECKED.read(), _is_full(config)
    for item in items:
        if full and not item.get_closest_marker("real"):
            item.add_marker("full")
        exhaustive = item.get_closest_marker("full") or item.get_closest_marker("real")
        if exhaustive and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(EXHAUSTIVE))
        name = f"{item.path.relative_to(HERE).as_posix()}::{item.name.partition('[')[0]}"
        if not exhaustive and name not in _slow() and _is_quick(item.path):
            item.add_marker("quick")
        if checked and item.get_closest_marker("out_of_range"):
            item.add_marker(pytest.mark.xfail(raises=EvaluationError, strict=True))


def _left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of the tests that are marked with `rotate`, those that this run does not take."""
    groups: dict[tuple[Path, str], list[pytest.Item]] = {}
    if sampling.RUN.everything:
        return []
    for item in items:
        if item.get_closest_marker("rotate") and not item.get_closest_marker("full"):
            groups.setdefault((item.path, item.name.partition("[")[0]), []).append(item)
    found = []
    for group in groups.values():
        (part,) = group[0].get_closest_marker("rotate").args
        taken = set(sampling.part_of(group, part, name=lambda item: item.name))
        found += [item for item in group if item not in taken]
    return found


def pytest_collection_finish() -> None:
    """Collecting garbage does not look at the tests themselves, which are many objects."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How to repeat this run; after all tests of operators, which attributes their samples try away
    from the default."""
    terminalreporter.write_line(f"samples: {sampling.VARIABLE}={sampling.RUN.seed} repeats them")
    ran = _is_full(terminalreporter.config) and any(
        "tests/op/" in report.nodeid.replace("\\", "/")
        for report in terminalreporter.stats.get("passed", [])
        if hasattr(report, "nodeid")
    )
    if not ran:
        return
    from relay.ir.expr import op_names
    from relay.op.opdef import get

    terminalreporter.section("operator x attribute: values tried (* away from the default)")
    for name in op_names():
        op = get(name)
        cells = []
        for attribute in op.attrs.keys() if op.attrs is not None else ():
            default = op.attrs.defaults().get(attribute, "required")
            tried = {repr(op.make_attrs(s.attrs)[attribute]) for s in op.samples}
            away = len(tried - {repr(default)})
            cells.append(f"{attribute}{'*' * bool(away)}{away or ''}")
        terminalreporter.write_line(f"{name:<32} {len(op.samples):>2} samples  {' '.join(cells)}")
