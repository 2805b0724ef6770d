"""TorchScript: traced and scripted modules and functions.

graph.py      programs of torch as data              numbers.py   arithmetic of Python's numbers
values.py     what names of a program stand for      containers.py lists, tuples and dictionaries
forms.py      the common form of several values      sharing.py   tensors that share memory
path.py       a path through a program               tensors.py   operators of scripts alone
coding.py     values as expressions, and back        calls.py     operators by their converters
merging.py    where paths meet: `if`, cases          survey.py    what is not supported
loops.py      loops as recursive functions           entry.py     inputs, state and results
converter.py  blocks, step by step
"""
