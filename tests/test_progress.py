"""Stages of a compilation are reported, to functions and as text."""

import io
import sys

import pytest

import relay
from relay.cache import Cache
from relay.progress import reported
from relay.testing import mlp


def test_stages_are_reported_in_order():
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    seen = []
    relay.compile(module, params, cache=Cache(None), progress=lambda *one: seen.append(one))
    stages = list(dict.fromkeys(stage for stage, _, _ in seen))
    assert stages == ["import", "passes", "kernels", "code", "weights"]
    made = [(done, total) for stage, done, total in seen if stage == "kernels"]
    assert made[0][0] == 0 and made[-1][0] == made[-1][1] > 1
    assert [done for done, _ in made] == sorted(done for done, _ in made)


def test_without_a_terminal_every_stage_is_a_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with reported(True, "compiling x") as progress:
        for done in range(3):
            progress("kernels", done, 3)
        progress("code", 0, 0)
    assert sys.stderr.getvalue() == "compiling x: kernels\ncompiling x: code\n"


def test_a_bar_is_drawn_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with reported(True, "compiling x") as progress:
        progress("kernels", 1, 3)
    assert "compiling x: kernels" in sys.stderr.getvalue()


def test_anything_else_is_refused():
    with pytest.raises(relay.RelayError, match="`progress` is True, False or a function"):
        relay.compile(relay.const(1.0), progress=3)
