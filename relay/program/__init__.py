"""The lowered program: kernels, and the few instructions that are left around them.

program.py    the records: a register machine
text.py       its text form, written and read
lower.py      fused Relay -> program
plan.py       where every register of straight-line code lies in memory
"""
