"""Kernels and models as source text in C11.

target.py       the target `c`
types.py        types and literals
helpers.py      small functions that kernels call
values.py       expressions
kernels.py      statements, and the function of a kernel
loaded.py       kernels in this process, compiled by the machine's own compiler
source.py       a whole model as one file, with the header that libraries for C have
"""
