"""Prints, after the tests of operators, which attributes samples try away from the default."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
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
