"""The runtime of the LLVM target, written in LLVM IR. `relay.target.llvm.abi` is the interface
between kernels, runtime and Python.

notation.py the abbreviations in which the code is written
pool.py     the thread pool of parallel loops
run.py      runs the kernels of a straight-line program in one native call
runtime.py  both of them, loaded into this process

layout.py   memory layout of objects, and of the context of a call
heap.py     allocator
objects.py  reference-counted objects
device.py   tensors in memory of a device
watch.py    signal handling while native code runs
stack.py    the stack of programs, polling and interrupts
exchange.py conversion of arguments and results; export.py that of results
call.py     all of that, loaded into this process; contexts

python_values.py  reads Python values in native code
python_walk.py    traverses them
python_leaves.py  numbers and arrays; python_data.py tuples, lists and data
python_seen.py    hash table of the objects read so far
"""
