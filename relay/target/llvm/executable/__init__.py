"""Whole programs in native code, as Python calls them.

whole_program.py      the executable; timing.py its kernels with a clock around them
program_function.py   a function of a program: arguments in, one native call, results out
encode.py             Python values as the words of a program (encode_leaves.py, message.py)
encode_native.py      the same in native code, for plain values
results.py            words as values again, the usual ones (kinds.py, style.py, block.py)
decode.py             the same for all others
"""
