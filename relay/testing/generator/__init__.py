"""The parts of the random program generator, from decisions up to functions.

    choices       where decisions come from: a seed, or Hypothesis
    features      what a program may contain, and how large its numbers may be
    types         random types and data type definitions
    values        random arrays and arguments
    tensors       operator calls that make a tensor of a given type
    tensors_from_nothing   a tensor of any shape from constants and what is at hand
    patterns      patterns that cover every value of a type
    scope         what an expression may use where it stands
    ledger        the size, cost and effects of what has been written
    calls         calls of functions, closures and constructors
    recursion     functions that count down by calling themselves
    expressions   expressions of a given type
    functions     the functions of a module, and main

`relay.testing.generate` puts them together.
"""
