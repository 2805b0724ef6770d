"""The accelerator: a tensor core of bytes with its own memories, and its simulator.

config.py     the parameters of a design
isa.py        instructions, as data and as bytes
memory.py     buffers and memory: what instructions read and write, and hazards
execute.py    what Gemm and Alu compute
simulator.py  a whole program: values, cycles, tokens
"""
