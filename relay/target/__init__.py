"""The machines Relay makes code for; one folder each."""

from relay.target.target import Target

__all__ = ["Target"]
