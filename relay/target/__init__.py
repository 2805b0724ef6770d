"""The machines Relay makes code for; one folder each."""

from relay.target.target import Target, TargetKind

__all__ = ["Target", "TargetKind"]
