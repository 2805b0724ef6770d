"""Looking at programs, and at what the compiler makes of them.

trace.py      a run as events in time
"""
