"""The runtime of the LLVM target, written as LLVM IR: threads, kernels in a row, and what whole
programs need. What kernels, runtime and Python hand each other is laid out in
`relay.target.llvm.abi`.

pool.py     the threads that share a parallel loop
run.py      the kernels of a straight-line program inside one native call
runtime.py  both of them, loaded into this process

layout.py   objects of whole programs, and the context of a running call
heap.py     memory for objects
objects.py  objects: made, held, freed
watch.py    signals that come while native code runs
stack.py    the stack that programs run on, and how they are interrupted
exchange.py values in and out; export.py the way out
call.py     all of that, loaded into this process; contexts

python_values.py  Python's own values, read in without a step in Python
python_walk.py    the way through them
python_leaves.py  numbers and arrays on that way; python_data.py tuples, lists and data
python_seen.py    what the way has come across before
"""
