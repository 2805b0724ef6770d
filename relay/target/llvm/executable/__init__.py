"""Whole programs in native code, as Python calls them.

whole_program.py      the executable; timing.py its kernels with a clock around them
program_function.py   a function of a program: arguments in, one native call, results out
words_in.py, words_leaves.py, message.py    Python's values as the words of a program
reading.py            the same without a step in Python, for the values it knows
words_out.py, results.py, kinds.py, style.py, block.py    words as values again
"""
