"""External compilers: other people's compilers and libraries as a part of compiled programs.

compiler.py     `ExternalCompiler`, the base class: patterns, compile, load; and how one is found
divide.py       divides a module among compilers
lower.py        a function of an external compiler -> a kernel, and the code behind it
functions.py    that code, loaded: a C function over DLPack tensors, or a Python callback
"""

from relay.external.compiler import ExternalCompiler, NativeFunction, Part, find_compiler
from relay.op.contrib.register import register_compiler

__all__ = ["ExternalCompiler", "NativeFunction", "Part", "find_compiler", "register_compiler"]
