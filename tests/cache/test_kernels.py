"""Work that was done before is found again, and only when it is the same work."""

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.cache.fingerprint import fingerprint
from relay.cache.kernels import KernelCache
from relay.lower import stored
from relay.lower.kernel import Kernel, Lowered, Options, Param, Result, Step, Temporary, TensorSpec
from relay.op.opdef import FusionKind
from relay.program.primitives import Primitive
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
    assert (first.made, first.found) == (1, 0)
    assert (second.made, second.found) == (0, 1)
    assert second.compile([made.steps[0].kernel]) == first.compile([made.steps[0].kernel])


def test_a_function_for_all_sizes_is_lowered_once(cache):
    text = ADD.replace("4", "?")
    first = KernelCache(cache, Target.host(), Options())
    made = first.lower_dynamic(function(text), (False, False))
    second = KernelCache(cache, Target.host(), Options())
    assert second.lower_dynamic(function(text), (False, False)) == made
    assert (first.made, first.found) == (1, 0)
    assert (second.made, second.found) == (0, 1)
    kernels = [step.kernel for variant in made.variants for step in variant.lowered.steps]
    assert second.compile(kernels) == first.compile(kernels)


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
    assert cache.statistics.stored == 12


@pytest.fixture
def twice():
    with relay.op.opdef.temporary_operators():
        yield relay.op.opdef.define(
            name="test.twice",
            doc="Twice a tensor.",
            arguments=(("data", "a tensor"),),
            relation=relay.op.get("exp").relation,
            compute=lambda x, out: relay.te.compute(x.shape, lambda *i: x[i] + x[i]),
            reference=lambda x: x + x,
            fusion=FusionKind.ELEMWISE,
        )


def test_what_others_define_is_not_kept(cache, twice):
    made = function("%x: Tensor[(4), float32], Primitive=1) { test.twice(%x) }")
    for _ in range(2):
        kernels = KernelCache(cache, Target.host(), Options())
        kernels.lower(made, (False,))
        assert kernels.made == 1
    assert cache.statistics.stored == 0
    x = relay.var("x", shape=(4,))
    call = relay.Call(twice, [x])
    exe = relay.compile(relay.Function([x], call), cache=cache)
    np.testing.assert_array_equal(exe(np.ones(4, "float32")), 2)


def test_without_a_folder_nothing_is_kept():
    for _ in range(2):
        kernels = KernelCache(Cache(None), Target.host(), Options())
        kernels.lower(function(ADD), (False, False))
        kernels.lower(function(ADD), (False, False))
        assert (kernels.made, kernels.found) == (1, 0)


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


# --- several processes --------------------------------------------------------------------------

SEVERAL = [
    function(ADD.replace("4", str(size)).replace("+", sign))
    for size in (3, 5, 7)
    for sign in ("+", "-")
]


@pytest.mark.parametrize("folder", [True, False])
def test_much_work_is_shared(cache, folder, monkeypatch):
    monkeypatch.setattr("relay.cache.kernels.FUNCTIONS_PER_WORKER", 3)
    monkeypatch.setenv("RELAY_WORKERS", "2")
    kernels = KernelCache(cache if folder else Cache(None), Target.host(), Options())
    kernels.prepare(Primitive(f, (False, False)) for f in SEVERAL)
    assert kernels.made == len(SEVERAL)
    alone = KernelCache(Cache(None), Target.host(), Options())
    for each in SEVERAL:
        expected = alone.lower(each, (False, False))
        assert kernels.lower(each, (False, False)) == expected
        of_this = [step.kernel for step in expected.steps]
        assert kernels.compile(of_this) == alone.compile(of_this)
    assert kernels.made == len(SEVERAL)
    if folder:
        again = KernelCache(cache, Target.host(), Options())
        again.prepare(Primitive(f, (False, False)) for f in SEVERAL)
        assert (again.made, again.found) == (0, len(SEVERAL))


def test_functions_over_sizes_of_a_run_are_shared_too(cache, monkeypatch):
    monkeypatch.setattr("relay.cache.kernels.FUNCTIONS_PER_WORKER", 3)
    monkeypatch.setenv("RELAY_WORKERS", "2")
    sized = [
        function(ADD.replace("4", size).replace("+", sign))
        for size in ("?, 4", "?, 8", "8, ?")
        for sign in ("+", "-")
    ]
    kernels = KernelCache(cache, Target.host(), Options())
    kernels.prepare(Primitive(f, (False, False), dynamic=True) for f in sized)
    assert kernels.made == len(sized)
    alone = KernelCache(Cache(None), Target.host(), Options())
    for each in sized:
        expected = alone.lower_dynamic(each, (False, False))
        assert kernels.lower_dynamic(each, (False, False)) == expected
        of_this = [step.kernel for step in expected.steps]
        assert kernels.compile(of_this) == alone.compile(of_this)
    again = KernelCache(cache, Target.host(), Options())
    again.prepare(Primitive(f, (False, False), dynamic=True) for f in sized)
    assert (again.made, again.found) == (0, len(sized))


def test_a_kernel_that_several_functions_have_is_compiled_once(monkeypatch):
    compiled = []

    def compile_module(texts, target):
        compiled.append(texts)
        return b"code"

    monkeypatch.setattr("relay.target.llvm.compile.compile_module", compile_module)
    text = "%x: Tensor[(4, 24), float32], %w: Tensor[(24, 32), float32], Primitive=1) { {} }"
    product = "nn.matmul(%x, %w)"
    kernels = KernelCache(Cache(None), Target.host(), Options())
    made = [
        kernels.lower(function(text.replace("{}", body)), (False, True))
        for body in (product, f"tanh({product})")
    ]
    names = {step.kernel.name for one in made for step in one.steps}
    steps = sum(len(one.steps) for one in made)
    assert len(compiled) == len(names) < steps
