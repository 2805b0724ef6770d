"""The runtime inside compiled code, written as LLVM IR: threads, and running a program's kernels.

abi.py      the layout of what kernels, runtime and Python hand each other
pool.py     the threads that share a parallel loop
run.py      a whole program inside one native call
runtime.py  both of them, loaded into this process
"""
