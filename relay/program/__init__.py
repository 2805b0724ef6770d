"""The lowered program: kernels, and the few instructions that are left around them.

program.py    the records: a register machine
text.py       its text form: written by printer.py, read by reader.py
verify.py     is it well formed? (instruction_types.py, dominators.py)
scalars.py    the operations on scalars, by name
syntax.py     how instructions are written, and which registers they use (uses.py)
primitives.py the primitive functions of a module, which kernels are made of
lower.py      fused Relay -> program: straight-line code
whole.py      fused Relay -> program: all the rest (matching.py, dynamic.py, scalar_code.py)
ownership.py  who lets go of which object
plan.py       memory of straight-line code; frame.py: of a function of a whole program
"""
