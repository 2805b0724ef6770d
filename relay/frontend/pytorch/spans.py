"""Where a call of a graph comes from: the user's line of Python, and the name of its node."""

from __future__ import annotations

import re

from torch.fx import Node as Call

from relay.errors import SourceName, Span

_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+)', re.MULTILINE)
_OF_TORCH = re.compile(r"[/\\]torch[/\\]|^<")  # not where people look for their mistake


def span_of(call: Call | None) -> Span:
    """The line of the user's file that made a call, the innermost outside of torch."""
    if call is None:
        return Span(SourceName("the exported program"))
    trace = call.meta.get("stack_trace") or ""
    frames = [*_FRAME.finditer(trace)]
    own = [frame for frame in frames if not _OF_TORCH.search(frame["file"])] or frames
    what = f"node `{call.name}` ({call.target})"
    if not own:
        return Span(SourceName(what))
    return Span(SourceName(f"{own[-1]['file']}:{own[-1]['line']}, {what}"))
