"""Passes for those who look at programs: printing, spans, labels, explanations."""
