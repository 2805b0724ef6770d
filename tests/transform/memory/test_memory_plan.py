"""Storages of a block lie in one."""

import numpy as np
import pytest
from hypothesis import given, settings

import relay
from relay import tree
from relay.analysis import check_a_normal_form
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value, mlp
from relay.testing.strategies import programs
from relay.transform import FuseOps, InferType, ManifestAlloc, ManifestLifetimes, MemoryPlan

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    module = relay.IRModule()
    module.import_from_std("core.rly")
    empty, four = np.zeros(0, "int64"), np.array([4])
    table = {"relay.Constant": [relay.const(value, "int64") for value in (empty, four)]}
    return InferType()(relay.parse(HEADER + text, None, module, table))


def planned(mod):
    after = MemoryPlan()(mod)
    check_well_formed(after)
    assert all(check_a_normal_form(function) for function in after.functions.values())
    again = MemoryPlan()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def storages(mod):
    """The sizes of all storages, where they are known."""
    nodes = list(tree.postorder(mod["main"]))
    numbers = {
        n.variable: n.value.data.numpy().tolist()
        for n in nodes
        if isinstance(n, relay.Let) and isinstance(n.value, relay.Constant)
    }
    return [
        numbers.get(n.args[0])
        for n in nodes
        if isinstance(n, relay.Call) and getattr(n.op, "name", "") == "memory.alloc_storage"
    ]


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def straight(count):
    """A chain of kernels, each in a storage of its own."""
    x = relay.var("x", shape=(4,))
    body = x
    for _ in range(count):
        body = relay.exp(relay.negative(body))
    mod = FuseOps(fuse_opt_level=0)(InferType()(relay.IRModule.from_expr(body)))
    return ManifestAlloc()(mod)


TWO = """
def @main(%x: Tensor[(4), float32]) {
  let %shape = meta[relay.Constant][1];
  let %size = 16i64;
  let %zero = 0i64;
  let %s0 = memory.alloc_storage(%size, %shape, %size);
  let %a = memory.alloc_tensor(%s0, %zero, %shape, const_shape=[4]);
  let %s1 = memory.alloc_storage(%size, %shape, %size);
  let %b = memory.alloc_tensor(%s1, %zero, %shape, const_shape=[4]);
  let %c = add(%a, %b);
  let %_ = memory.kill(%s0);
  let %_1 = memory.kill(%s1);
  %c
}
"""


def test_storages_that_live_together_lie_side_by_side():
    wanted = """
    def @main(%x: Tensor[(4), float32]) {
      let %shape = meta[relay.Constant][1];
      let %size = 16i64;
      let %zero = 0i64;
      let %size1 = 128i64;
      let %shape1 = meta[relay.Constant][0];
      let %alignment = 64i64;
      let %region = memory.alloc_storage(%size1, %shape1, %alignment);
      let %offset = 0i64;
      let %a = memory.alloc_tensor(%region, %offset, %shape, const_shape=[4]);
      let %offset1 = 64i64;
      let %b = memory.alloc_tensor(%region, %offset1, %shape, const_shape=[4]);
      let %c = add(%a, %b);
      let %_ = memory.kill(%a);
      let %_1 = memory.kill(%b);
      let %_2 = memory.kill(%region);
      %c
    }
    """
    after = planned(parse(TWO))
    assert_structural_equal(after, parse(wanted))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("let %_1 = memory.kill(%s1);", ""),  # its end is given by ManifestLifetimes
        ("%c\n", "%b\n"),  # what lies in it leaves
        ("let %s1 = memory.alloc_storage(%size,", "let %s1 = memory.alloc_storage(%n,"),
        (
            "let %s1 = memory.alloc_storage(%size, %shape, %size)",
            'let %s1 = memory.alloc_storage(%size, %shape, %size, virtual_device="cuda(0)")',
        ),
        ("%c\n", "let %d = (%s1,); let %e = (%c, %d); %e\n"),  # it leaves itself
        ("memory.alloc_tensor(%s1, %zero", "memory.alloc_tensor(%s1, %n"),
    ],
)
def test_one_storage_alone_stays(before, after):
    text = TWO.replace("(%x: Tensor[(4), float32])", "(%x: Tensor[(4), float32], %n: int64)")
    if after == "%b\n":
        text = text.replace("  let %_1 = memory.kill(%s1);\n", "")
    module = ManifestLifetimes()(parse(text.replace(before, after)))
    result = planned(module)
    if after == "":
        assert storages(result) == [128]
    else:
        assert result["main"] is module["main"]


def test_storages_that_do_not_live_together_share_bytes():
    after = planned(straight(20))
    # two at a time, and that of the result, which leaves
    assert sorted(storages(after)) == [16, 128]
    value = np.linspace(0, 1, 4, dtype="float32")
    assert_same_value(evaluate(after, value), evaluate(straight(20), value))


def test_a_network_means_the_same():
    mod, params = mlp.get_workload(1, image_shape=(1, 4, 4))
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    before = FuseOps()(InferType()(mod))
    manifest = ManifestAlloc()(before)
    after = planned(manifest)
    assert len(storages(after)) == 2 < len(storages(manifest))
    value = np.random.default_rng(0).random((1, 1, 4, 4), dtype="float32")
    assert_same_value(evaluate(after, value), evaluate(before, value))


@settings(max_examples=8)
@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    before = FuseOps()(mod)
    assert_same_value(evaluate(planned(ManifestAlloc()(before)), *args), evaluate(before, *args))


def test_long_programs_take_linear_time():
    assert sorted(storages(MemoryPlan()(straight(250)))) == [16, 128]
