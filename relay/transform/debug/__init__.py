"""Passes for inspecting programs: printing, spans, labels, explanations."""
