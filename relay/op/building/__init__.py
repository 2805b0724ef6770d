"""Building blocks of operators: views, windows, layouts, interpolation, arithmetic."""
