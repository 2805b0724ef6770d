"""Programs in text form on the virtual machine, with kernels written by hand."""

from dataclasses import replace

import pytest

from relay import vm
from relay.executors.executable import Code
from relay.program.text import parse
from relay.target.llvm.compile import compile_module
from relay.target.target import Target


def make(text, kernels=None, weights=None, **options):
    """A machine for a program; `kernels` are their LLVM IR, by name."""
    program = parse("relay program 1\n" + text)
    known = tuple(replace(k, ir=kernels[k.name]) for k in program.kernels)
    program = replace(program, kernels=known)
    target = Target.host()
    objects = (compile_module([k.ir for k in known], target),) if known else ()
    exe = vm.Executable(program, Code(target, objects), weights or {}, threads=1)
    return vm.VirtualMachine(exe, **options)


@pytest.fixture
def machine():
    return make
