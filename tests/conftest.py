"""What all tests share: Hypothesis profiles, a cache of kernels that is not the user's, and the
table of what is tried of every operator.

The profile `ci` is small and always tries the same examples, `full` searches further; choose with
`--hypothesis-profile=full`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from relay.errors import EvaluationError
from relay.settings import CHECKED

EXHAUSTIVE = 3000  # seconds that a test marked `full` or `real` may take

settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "full",
    max_examples=2000,
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


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt: who is started in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Exhaustive tests may take longer than the others, unless they say how long themselves. With
    `RELAY_CHECKED=1` a test about indices outside of their axes must end in an error."""
    checked = CHECKED.read()
    for item in items:
        exhaustive = item.get_closest_marker("full") or item.get_closest_marker("real")
        if exhaustive and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(EXHAUSTIVE))
        if checked and item.get_closest_marker("out_of_range"):
            item.add_marker(pytest.mark.xfail(raises=EvaluationError, strict=True))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After tests of operators: which attributes their samples try away from the default."""
    ran = any(
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
