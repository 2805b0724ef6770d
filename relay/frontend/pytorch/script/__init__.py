"""TorchScript: traced and scripted modules and functions.

graph.py      programs of torch as data              archive.py    files, of which nothing is run
values.py     what names of a program stand for      objects.py    attributes, objects, optionals
forms.py      the common form of several values      containers.py lists, tuples and dictionaries
path.py       a path through a program               questions.py  membership, equality, sums
coding.py     values as expressions, and back        numbers.py    arithmetic of Python's numbers
merging.py    where paths meet: `if`, cases          texts.py      strings and messages
loops.py      loops as recursive functions           failing.py    exceptions
converter.py  blocks, step by step                   tensors.py    operators of scripts alone
entry.py      the import of a script                 calls.py      operators by their converters
boundary.py   values as callers see them             sharing.py    tensors that share memory
model.py      what a model holds                     state.py      what calls change in it
survey.py     what is not supported
"""
