"""The lowered program: kernels, and the few instructions that are left around them.

program.py    the records: a register machine
text.py       its text form: written by printer.py, read by reader.py
verify.py     is it well formed? (instruction_types.py, dominators.py)
scalars.py    the operations on scalars, by name
lower.py      fused Relay -> program: straight-line code
whole.py      fused Relay -> program: all the rest
uses.py       which registers an instruction reads and writes
ownership.py  who lets go of which object
plan.py       where every register of straight-line code lies in memory
"""
