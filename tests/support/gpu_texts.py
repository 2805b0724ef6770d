"""The texts of kernels for GPUs, without compiling them."""

import json

from relay.cache import Cache
from relay.driver import compile_program
from relay.target.cuda import host
from relay.target.cuda.target import CUDATarget


class Uncompiled(CUDATarget):
    version = ""

    @property
    def is_named(self):
        return False

    def compile(self, texts):
        return [text.encode() for text in texts]


def texts(mod, arch="sm_80", params=None, precision="float32"):
    """The texts of the kernels for the device, in the order of the program."""
    target = Uncompiled(arch, precision)
    made = compile_program(mod, params, target=target, cache=Cache(None))
    return [one.ir for one in made.program.kernels if host.is_device_text(one.ir)]


def sources(mod, arch="sm_80", **options):
    """Their Triton functions."""
    return [json.loads(text)["source"] for text in texts(mod, arch, **options)]
