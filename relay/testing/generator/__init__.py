"""The parts of the random program generator, from decisions up to functions.

choices       where decisions come from: a seed, or Hypothesis
features      what a program may contain, and how large its numbers may be
types         random types and data type definitions
values        random arrays and arguments
tensors       operator calls that make a tensor of a given type
patterns      patterns that cover every value of a type
scope         what an expression may use where it stands
expressions   expressions of a given type
functions     the functions of a module, and main
"""
