"""Diagnostics under the name `relay.ir.diagnostics`: the function set with `override_renderer` sees
each before it is raised."""

from relay.errors import (
    Diagnostic,
    DiagnosticContext,
    DiagnosticLevel,
    Renderer,
    get_renderer,
    override_renderer,
)

__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "Renderer",
    "get_renderer",
    "override_renderer",
]
