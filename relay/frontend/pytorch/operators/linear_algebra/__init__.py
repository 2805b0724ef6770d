"""Linear algebra: equations, factors, spectra."""
