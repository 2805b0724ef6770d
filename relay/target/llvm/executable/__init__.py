"""Executables of whole programs in native code.

whole_program.py      the executable; timing.py profiles its kernels
program_function.py   calls a function of a program
encode.py             Python values to words of the program (encode_leaves.py, message.py)
encode_native.py      the same in native code, for common values
results.py            words to Python values, for common types (kinds.py, style.py, block.py)
decode.py             the same for all types
"""
