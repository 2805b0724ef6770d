"""Who is shown what went wrong: `relay.ir.diagnostics`, where people look for it.

The function set with `override_renderer` sees all diagnostics before they are raised.
"""

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
