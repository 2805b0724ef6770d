"""Compiled models as C libraries.

export.py           object files, archives, shared libraries
model.py            common code: weights, `create`, `destroy`, `error`
library.py          straight-line models

program_library.py  whole programs
types.py            the types of the interface
header.py           the header
program.py          the functions of the header, in LLVM IR, and the memory layout of a model
tables.py           their tables
values.py           construction and access of values
running.py          a run
failures.py         error messages
"""
