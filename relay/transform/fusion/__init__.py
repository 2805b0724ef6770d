"""Passes that decide which operators make one kernel."""
