"""The virtual machine: programs of all of Relay, run one instruction at a time.

    exe = relay.vm.compile(mod, "llvm", params)
    vm = relay.vm.VirtualMachine(exe, relay.cpu())
    y = vm.invoke("main", x)

    compiler.py          module -> executable
    executable.py        a program, its weights, the code of its kernels
    virtual_machine.py   calls, profiles, timing
    boundary.py          Relay values <-> register values
    machine.py           the loop
    code.py              instructions as steps
    scalars.py, objects.py    what steps work on
    profile.py           time per instruction, kernel and function

It runs the same kernels as the native executor, with Python around them: slower, and easy to
inspect.
"""

from relay.interpreter.values import to_value as to_value
from relay.vm.boundary import FunctionValue as FunctionValue
from relay.vm.compiler import VMCompiler as VMCompiler
from relay.vm.compiler import compile as compile
from relay.vm.executable import Executable as Executable
from relay.vm.executable import Library as Library
from relay.vm.executable import load_library as load_library
from relay.vm.profile import Profile as Profile
from relay.vm.virtual_machine import VirtualMachine as VirtualMachine
