"""What operators are built with: views, windows, layouts, interpolation, arithmetic."""
