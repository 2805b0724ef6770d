"""The lowered program: instructions that call kernels.

program.py    the instructions: a register machine in SSA form
text.py       the text form: printer.py, reader.py
verify.py     well-formedness (instruction_types.py, dominators.py)
scalars.py    the scalar operations, by name
syntax.py     the syntax of instructions, and the registers they use (uses.py)
primitives.py the primitive functions of a module, which become kernels
lower.py      fused Relay -> straight-line program
whole.py      fused Relay -> whole program (matching.py, dynamic.py, scalar_code.py)
ownership.py  reference counting
plan.py       memory plan of straight-line code; frame.py: of a function of a whole program
"""
