"""How models come in: one folder per format, imported when it is asked for."""
