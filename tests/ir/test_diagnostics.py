"""Diagnostics are shown to whom people ask for."""

import pytest

import relay
from relay.ir.diagnostics import DiagnosticContext, get_renderer, override_renderer


def test_the_renderer_sees_the_messages_before_they_are_raised():
    seen = []
    assert get_renderer() is None
    override_renderer(lambda context: seen.append(context))
    try:
        with pytest.raises(relay.DiagnosticError):
            relay.parse('#[version = "0.0.5"]\ndef @main() { %nowhere }')
    finally:
        override_renderer(None)
    (context,) = seen
    assert isinstance(context, DiagnosticContext)
    assert "nowhere" in context.diagnostics[0].message
