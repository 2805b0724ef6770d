"""The parts of the random program generator, bottom up.

    choices       sources of decisions: a seed, or Hypothesis
    features      language features and magnitudes of a program
    types         random types and data type definitions
    values        random arrays and arguments
    tensors       operator calls with a given result type
    simplest_tensor   a constant, or vectors for dynamic dimensions
    patterns      exhaustive patterns
    scope         variables and functions in scope
    ledger        the state: size, cost, effects, sharing
    calls         calls of functions, closures and constructors
    recursion     recursive functions
    expressions   expressions of a given type
    functions     the functions of a module, and main

`relay.testing.generate` puts them together.
"""
