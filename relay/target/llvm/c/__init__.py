"""A compiled model as a library for programs in C.

export.py           object files, archives, shared libraries
model.py            what every model has: weights, `create`, `destroy`, `error`
library.py          straight-line models

program_library.py  whole programs
types.py            the types that a program in C comes across
header.py           the header
program.py          the functions of that header, in LLVM IR, and what a model is in memory
tables.py           what they look up
values.py           values: made, looked at
running.py          a run
failures.py         what goes wrong, in words
"""
