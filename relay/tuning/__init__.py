"""Tuning: kernels timed with other schedules than the rules of the target choose.

tune.py      `relay.tune`: which kernels of a model, in which order, and what is kept
worker.py    the process that compiles and runs candidates
trial.py     one kernel by itself: verified, and timed in turns with what the rules choose
report.py    what was found, as a table
"""
