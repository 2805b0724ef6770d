"""Kernels write their results to memory that the program allocates."""

import numpy as np
from hypothesis import given, settings

import relay
from relay import tree
from relay.analysis import check_a_normal_form
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value, mlp
from relay.testing.strategies import programs
from relay.transform import FuseOps, InferType, ManifestAlloc, ManifestLifetimes
from tests.transform.rewriting import assert_types_hold

HEADER = '#[version = "0.0.5"]\n'


def allocated(mod):
    after = ManifestAlloc()(mod)
    check_well_formed(after)
    assert_types_hold(after)
    assert all(check_a_normal_form(function) for function in after.functions.values())
    again = ManifestAlloc()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def fused(text):
    return FuseOps(fuse_opt_level=0)(relay.parse(HEADER + text))


def calls(mod, name):
    return [
        node
        for node in tree.postorder(mod["main"])
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == name
    ]


def kernels_called(mod):
    """The kernels that still allocate for themselves."""
    nodes = tree.postorder(mod["main"])
    return [n for n in nodes if isinstance(n, relay.Call) and isinstance(n.op, relay.Function)]


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def assert_means_the_same(after, before, *args):
    wanted = evaluate(before, *args)
    assert_same_value(evaluate(after, *args), wanted)
    assert_same_value(evaluate(ManifestLifetimes()(after), *args), wanted)


def test_a_result_has_a_storage_of_its_own():
    kernel = "fn (%p: Tensor[(2, 3), float32], Primitive=1) { exp(%p) }"
    before = relay.parse(
        f"{HEADER}def @main(%x: Tensor[(2, 3), float32]) {{ let %y = {kernel}(%x); %y }}"
    )
    wanted = f"""
    def @main(%x: Tensor[(2, 3), float32]) {{
      let %shape = meta[relay.Constant][0];
      let %size = 24i64;
      let %alignment = 64i64;
      let %offset = 0i64;
      let %storage = memory.alloc_storage(%size, %shape, %alignment);
      let %y = memory.alloc_tensor(%storage, %offset, %shape, const_shape=[2, 3]);
      let %kernel = {kernel};
      let %ins = (%x,);
      let %outs = (%y,);
      let %done = vm.invoke_tvm_op(%kernel, %ins, %outs);
      %y
    }}
    """
    table = {"relay.Constant": [relay.const(np.array([2, 3]), "int64")]}
    module = relay.IRModule()
    module.import_from_std("core.rly")
    after = allocated(before)
    assert_structural_equal(after, relay.parse(HEADER + wanted, None, module, table))
    assert_means_the_same(after, before, np.ones((2, 3), "float32"))


def test_a_kernel_with_several_results_writes_all_of_them():
    before = fused(
        "def @main(%x: Tensor[(4, 2), float32]) { split(%x, indices_or_sections=2, axis=0) }"
    )
    after = allocated(before)
    assert len(calls(after, "memory.alloc_storage")) == 2
    (invoked,) = calls(after, "vm.invoke_tvm_op")
    assert invoked.args[2].ty == relay.TupleType([relay.TensorType((2, 2))] * 2)
    assert_means_the_same(after, before, np.arange(8, dtype="float32").reshape(4, 2))


def test_sizes_that_show_in_a_run_are_computed_from_those_of_the_arguments():
    before = fused(
        """
        def @main[n: Shape, m: Shape](%x: Tensor[(n, 4), float32], %w: Tensor[(m, 4), float32]) {
          %0 = nn.dense(%x, %w);
          concatenate((%0, %0), axis=0)
        }
        """
    )
    after = allocated(before)
    assert not kernels_called(after)
    assert len(calls(after, "vm.invoke_tvm_op")) == 4  # two of them for shapes
    assert [call.attrs.dtype for call in calls(after, "vm.shape_of")] == ["int64"] * 3
    assert after["main"].ret_type == before["main"].ret_type
    rng = np.random.default_rng(0)
    for n, m in ((3, 5), (1, 2), (0, 3)):
        args = [rng.random((rows, 4), dtype="float32") for rows in (n, m)]
        assert_means_the_same(after, before, *args)


def test_unknown_sizes_follow_each_other():
    before = fused(
        """
        def @main(%x: Tensor[(?, 3, ?, 9), float32]) {
          nn.max_pool2d(exp(%x), pool_size=[2, 2], strides=[2, 2])
        }
        """
    )
    after = allocated(before)
    assert not kernels_called(after)
    value = np.random.default_rng(0).random((2, 3, 7, 9), dtype="float32")
    assert_means_the_same(after, before, value)


def test_a_kernel_whose_values_decide_how_much_comes_out_stays():
    before = fused("def @main(%x: Tensor[(4), float32]) { argwhere(exp(%x)) }")
    after = allocated(before)
    assert len(kernels_called(after)) == 1
    assert len(calls(after, "vm.invoke_tvm_op")) == 1
    assert_means_the_same(after, before, np.ones(4, "float32"))


def test_operators_that_are_in_no_kernel_stay():
    before = InferType()(relay.parse(HEADER + "def @main(%x: int32) { let %y = negative(%x); %y }"))
    after = allocated(before)
    assert after["main"] is before["main"]


def test_branches_and_functions_allocate_what_they_need():
    before = fused(
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          let %f = fn (%y: Tensor[(4), float32]) { exp(%y) };
          let %a = if (%c) { %f(negative(%x)) } else { sqrt(%x) };
          add(%a, %x)
        }
        """
    )
    after = allocated(before)
    assert not [k for k in kernels_called(after) if k.op.attrs.get("Primitive")]
    value = np.arange(4, dtype="float32")
    for choice in (True, False):
        assert_means_the_same(after, before, value, choice)


def test_storages_of_a_network_are_given_back():
    mod, params = mlp.get_workload(1, image_shape=(1, 4, 4))
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    before = FuseOps()(InferType()(mod))
    after = ManifestLifetimes()(allocated(before))
    storages = {call.args[0] for call in calls(after, "memory.alloc_tensor")}
    killed = {call.args[0] for call in calls(after, "memory.kill")} & storages
    assert len(storages) > 3
    assert len(killed) == len(storages) - 1  # all but that of the result
    value = np.random.default_rng(0).random((1, 1, 4, 4), dtype="float32")
    assert_same_value(evaluate(after, value), evaluate(before, value))


@settings(max_examples=8)
@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    before = FuseOps()(mod)
    assert_means_the_same(allocated(before), before, *args)


def test_long_programs_take_linear_time():
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(500):
        body = relay.add(relay.exp(body), x)
    mod = FuseOps(fuse_opt_level=0)(InferType()(relay.IRModule.from_expr(body)))
    assert len(calls(ManifestAlloc()(mod), "vm.invoke_tvm_op")) == 1_000
