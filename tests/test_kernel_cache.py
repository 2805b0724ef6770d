"""Work that was done before is found again, and only when it is the same work."""

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.kernel_cache import KernelCache, fingerprint
from relay.lower import stored
from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, Temporary, TensorSpec
from relay.lower.lower import Options
from relay.op.opdef import FusionKind
from relay.target.target import Target

HEAD = '#[version = "0.0.5"]\n'


def function(text):
    module = relay.parse(HEAD + f"def @main({text}")
    return relay.transform.InferType()(module)["main"]


ADD = "%x: Tensor[(4), float32], %y: Tensor[(4), float32], Primitive=1) { %x + %y }"


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def test_a_function_is_lowered_once(cache):
    first = KernelCache(cache, Target.host(), Options())
    made = first.lower(function(ADD), (False, False))
    second = KernelCache(cache, Target.host(), Options())
    assert second.lower(function(ADD), (False, False)) == made
    assert (first.lowered, first.found) == (1, 0)
    assert (second.lowered, second.found) == (0, 1)
    assert second.compile([made.steps[0].kernel]) == first.compile([made.steps[0].kernel])


def test_whatever_it_depends_on_makes_it_another(cache):
    base = KernelCache(cache, Target.host(), Options())
    base.lower(function(ADD), (False, False))
    base.lower(function(ADD), (False, True))
    base.lower(function(ADD.replace("4", "5")), (False, False))
    base.lower(function(ADD.replace("%x + %y", "%x - %y")), (False, False))
    KernelCache(cache, Target("llvm -level=baseline"), Options()).lower(
        function(ADD), (False, False)
    )
    KernelCache(cache, Target.host(), Options(checked=True)).lower(function(ADD), (False, False))
    assert cache.statistics.hits == 0
    assert cache.statistics.stored == 6


def test_what_others_define_is_lowered_every_time(cache):
    relay.op.opdef.define(
        name="test.twice",
        doc="Twice a tensor.",
        arguments=(("data", "a tensor"),),
        relation=relay.op.get("exp").relation,
        compute=lambda x, out: relay.te.compute(x.shape, lambda *i: x[i] + x[i]),
        reference=lambda x: x + x,
        fusion=FusionKind.ELEMWISE,
    )
    made = function("%x: Tensor[(4), float32], Primitive=1) { test.twice(%x) }")
    kernels = KernelCache(cache, Target.host(), Options())
    kernels.lower(made, (False,))
    kernels.lower(made, (False,))
    assert kernels.lowered == 2
    assert cache.statistics.stored == 0
    x = relay.var("x", shape=(4,))
    call = relay.Call(relay.op.get("test.twice"), [x])
    exe = relay.compile(relay.Function([x], call), cache=cache)
    np.testing.assert_array_equal(exe(np.ones(4, "float32")), 2)


def test_without_a_folder_nothing_is_kept():
    kernels = KernelCache(Cache(None), Target.host(), Options())
    kernels.lower(function(ADD), (False, False))
    kernels.lower(function(ADD), (False, False))
    assert (kernels.lowered, kernels.found) == (2, 0)


def test_what_lowering_gives_survives_the_way_to_disk():
    spec = TensorSpec((2, "n"), "float32")
    kernel = Kernel(
        "k", (spec,), (spec, spec), "define …", ("n",), 1, 2, ((0, 0),), ("a",), ("b",), 3, True
    )
    lowered = Lowered(
        (
            Step(kernel, (Param(0),), (Temporary(0), Result(1)), constant=True),
            Step(kernel, (Temporary(0),), (Result(0), Result(2))),
        ),
        (spec,),
    )
    assert stored.from_bytes(stored.to_bytes(lowered)) == lowered


def test_the_fingerprint_is_that_of_the_package():
    assert len(fingerprint()) == 64
    assert fingerprint() == fingerprint.__wrapped__()
