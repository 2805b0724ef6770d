"""Special functions: computed in float64, rounded once."""
