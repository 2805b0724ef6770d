"""Operators that make one kernel are one function."""

import sys

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value, mlp, resnet
from relay.testing.strategies import programs
from relay.transform import DefuseOps, FuseOps, InferType, PassContext, explain_fusion
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return relay.parse(HEADER + text)


def fused(text, **options):
    return FuseOps(**options)(parse(text))


def assert_rewrites(before, after, **options):
    assert_structural_equal(fused(before, **options), parse(after))


def kernels(mod):
    """The operators of every primitive function, in the order in which calls come to them."""
    return [
        operators(e.op)
        for function in mod.functions.values()
        for e in tree.postorder(function)
        if isinstance(e, relay.Call) and is_kernel(e.op)
    ]


def is_kernel(e):
    return isinstance(e, relay.Function) and bool(e.attrs.get("Primitive"))


def operators(e):
    calls = (part for part in tree.postorder(e) if isinstance(part, relay.Call))
    return " ".join(call.op.name for call in calls if isinstance(call.op, relay.op.OpDef))


def assert_kernels(text, *expected, **options):
    mod = fused(text, **options)
    check_well_formed(mod)
    assert kernels(mod) == list(expected)


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


# --- what it makes -------------------------------------------------------------------------------


def test_a_chain_is_one_function_called_in_its_place():
    assert_rewrites(
        "def @main(%x: Tensor[(10, 20), float32]) { squeeze(exp(add(%x, 1f))) }",
        """
        def @main(%x: Tensor[(10, 20), float32]) {
          fn (%p0: Tensor[(10, 20), float32], Primitive=1) -> Tensor[(10, 20), float32] {
            squeeze(exp(add(%p0, 1f)))
          }(%x)
        }
        """,
    )


def test_an_operator_alone_is_a_function_too():
    assert_rewrites(
        "def @main(%x: Tensor[(4), float32]) { (argsort(%x), sort(%x)) }",
        """
        def @main(%x: Tensor[(4), float32]) {
          (fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), int32] { argsort(%p0) }(%x),
           fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] { sort(%p0) }(%x))
        }
        """,
    )


def test_arguments_come_in_the_order_in_which_they_are_needed_each_once():
    assert_rewrites(
        """
        def @main(%a: Tensor[(4), float32], %b: Tensor[(4), float32], %c: Tensor[(4), float32]) {
          add(%b, multiply(add(%c, %b), %a))
        }
        """,
        """
        def @main(%a: Tensor[(4), float32], %b: Tensor[(4), float32], %c: Tensor[(4), float32]) {
          fn (%p0: Tensor[(4), float32], %p1: Tensor[(4), float32], %p2: Tensor[(4), float32],
              Primitive=1) -> Tensor[(4), float32] {
            add(%p0, multiply(add(%p1, %p0), %p2))
          }(%b, %c, %a)
        }
        """,
    )


def test_scalar_constants_stay_inside_and_others_are_handed_over():
    x = relay.var("x", shape=(3,))
    weights = relay.const(np.arange(3, dtype="float32"))
    mod = relay.IRModule.from_expr(relay.Function([x], x * weights + relay.const(2.0)))
    (call,) = [e for e in [FuseOps()(mod)["main"].body] if isinstance(e, relay.Call)]
    assert [type(arg) for arg in call.args] == [relay.Var, relay.Constant]
    constants = [e for e in tree.postorder(call.op) if isinstance(e, relay.Constant)]
    assert [c.data.shape for c in constants] == [()]
    with PassContext(config={"relay.FuseOps.link_params": True}):
        linked = FuseOps()(mod)["main"].body
    assert list(linked.args) == [linked.args[0]]
    assert isinstance(linked.args[0], relay.Var)


def test_an_operator_with_several_results_is_a_function_with_several_results():
    assert_rewrites(
        "def @main(%x: Tensor[(6), float32]) { split(%x, indices_or_sections=2) }",
        """
        def @main(%x: Tensor[(6), float32]) {
          fn (%p0: Tensor[(6), float32], Primitive=1)
              -> (Tensor[(3), float32], Tensor[(3), float32]) {
            split(%p0, indices_or_sections=2)
          }(%x)
        }
        """,
    )


def test_a_field_that_is_all_there_is_needed_of_a_tuple_is_the_result():
    assert_rewrites(
        "def @main(%x: Tensor[(6), float32]) { argsort(split(%x, indices_or_sections=2).0) }",
        """
        def @main(%x: Tensor[(6), float32]) {
          fn (%p0: Tensor[(3), float32], Primitive=1) -> Tensor[(3), int32] { argsort(%p0) }(
            fn (%p0: Tensor[(6), float32], Primitive=1) -> Tensor[(3), float32] {
              split(%p0, indices_or_sections=2).0
            }(%x)
          )
        }
        """,
    )


def test_a_kernel_is_given_the_field_and_not_the_tuple():
    assert_rewrites(
        "def @main(%t: (Tensor[(6), float32], Tensor[(2), float32])) { exp(%t.1) }",
        """
        def @main(%t: (Tensor[(6), float32], Tensor[(2), float32])) {
          fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) }(%t.1)
        }
        """,
    )


def test_symbolic_sizes_are_those_of_the_function_around():
    assert_rewrites(
        "def @main[n: Shape](%x: Tensor[(n, 4), float32]) { exp(nn.relu(%x)) }",
        """
        def @main[n: Shape](%x: Tensor[(n, 4), float32]) {
          fn (%p0: Tensor[(n, 4), float32], Primitive=1) -> Tensor[(n, 4), float32] {
            exp(nn.relu(%p0))
          }(%x)
        }
        """,
    )


def test_the_result_is_typed_and_the_argument_stays_as_it_was():
    before = parse("def @main(%x: Tensor[(4), float32]) { exp(nn.relu(%x)) }")
    function = before["main"]
    after = FuseOps()(before)["main"]
    assert before["main"] is function
    assert after.body.checked_type == function.body.checked_type
    calls = (e for e in tree.postorder(after) if isinstance(e, relay.Call))
    assert all(e.checked_type == function.body.checked_type for e in calls)


# --- what it leaves alone ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(4), float32]) { (%x, %x) }",
        "def @main(%t: (Tensor[(4), float32], int32)) { let %a = %t.0; (%a, ref(%t.1)) }",
        "def @main(%x: int32) { @f(%x) } def @f(%x: int32) -> int32 { @main(%x) }",
    ],
)
def test_a_program_without_operators_stays_as_it_is(text):
    before = parse(text)
    assert FuseOps()(before)["main"] is before["main"]


def test_what_is_fused_stays_as_it_is():
    once = fused(
        """
        def @main(%x: Tensor[(4), float32]) {
          let %y = exp(nn.relu(%x));
          if (less(sum(%y), 1f)) { argsort(%y) } else { argsort(negative(%y)) }
        }
        """
    )
    assert FuseOps()(once)["main"] is once["main"]
    assert FuseOps(fuse_opt_level=0)(once)["main"] is once["main"]


def test_functions_for_other_compilers_are_not_entered():
    text = """
    def @main(%x: Tensor[(4), float32]) {
      let %f = fn (%y: Tensor[(4), float32], Compiler="dnnl") { exp(nn.relu(%y)) };
      %f(sqrt(%x))
    }
    def @other(%x: Tensor[(4), float32], Compiler="dnnl") { exp(nn.relu(%x)) }
    """
    assert_kernels(text, "sqrt")


def test_what_a_function_for_others_shares_with_its_surroundings_stays_shared():
    x, y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))
    common = relay.exp(x)
    foreign = relay.Function([y], relay.add(y, common), attrs={"Compiler": "dnnl"})
    mod = FuseOps()(relay.IRModule.from_expr(relay.Function([x], foreign(relay.sqrt(common)))))
    check_well_formed(mod)
    assert kernels(mod) == ["exp", "sqrt"]


def test_annotations_and_operators_on_values_are_no_kernels():
    text = """
    def @main(%x: Tensor[(4), float32]) {
      exp(annotation.compiler_begin(nn.relu(%x), compiler="dnnl"))
    }
    """
    mod = fused(text)
    assert kernels(mod) == ["nn.relu", "exp"]
    assert "annotation.compiler_begin" in mod.astext()


def test_operators_can_be_declared_to_compute_nothing():
    with relay.op.temporary_operators():
        relay.op.get("nn.relu").set_attr("TNonComputational", True)
        assert_kernels("def @main(%x: Tensor[(4), float32]) { exp(nn.relu(%x)) }", "exp")


def test_a_stop_is_obeyed_and_taken_out():
    assert_rewrites(
        "def @main(%x: Tensor[(4), float32]) { exp(annotation.stop_fusion(nn.relu(%x))) }",
        """
        def @main(%x: Tensor[(4), float32]) {
          fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] { exp(%p0) }(
            fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] {
              nn.relu(%p0)
            }(%x)
          )
        }
        """,
    )


# --- levels and limits ---------------------------------------------------------------------------

CHAIN = "def @main(%x: Tensor[(4), float32]) { exp(sqrt(nn.relu(%x))) }"


def test_level_0_fuses_nothing():
    assert_kernels(CHAIN, "nn.relu", "sqrt", "exp", fuse_opt_level=0)
    assert_kernels(CHAIN, "nn.relu sqrt exp", fuse_opt_level=1)


def test_the_level_is_that_of_the_context_unless_it_is_given():
    with PassContext(opt_level=0):
        assert_kernels(CHAIN, "nn.relu", "sqrt", "exp")
        assert_kernels(CHAIN, "nn.relu sqrt exp", fuse_opt_level=2)


def chain(count):
    x = y = relay.var("x", shape=(4,))
    for _ in range(count):
        y = relay.exp(y)
    return relay.IRModule.from_expr(relay.Function([x], y))


def test_a_function_has_256_operators_at_most():
    assert [k.count("exp") for k in kernels(FuseOps()(chain(300)))] == [256, 44]


@pytest.mark.parametrize(("limit", "sizes"), [(11, [11] * 3), (10, [10, 1] * 3), (22, [22, 11])])
def test_all_paths_of_a_diamond_count(limit, sizes):
    x = out = relay.var("x", shape=(4,))
    for _ in range(3):
        left = right = out
        for _ in range(5):
            left, right = relay.exp(left), relay.exp(right)
        out = relay.add(left, right)
    with PassContext(config={"relay.FuseOps.max_depth": limit}):
        mod = FuseOps()(relay.IRModule.from_expr(relay.Function([x], out)))
    found = [len(k.split()) for k in kernels(mod)]
    assert sum(found) == 33
    assert max(found) <= limit
    if limit >= 11:
        assert found == sizes


@pytest.mark.parametrize("limit", [0, 1])
def test_a_limit_of_one_leaves_operators_alone(limit):
    with PassContext(config={"relay.FuseOps.max_depth": limit}):
        assert_kernels(CHAIN, "nn.relu", "sqrt", "exp")


# --- all of the language -------------------------------------------------------------------------


def test_branches_clauses_and_functions_are_entered_and_not_left():
    assert_kernels(
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          %0 = exp(%x);
          let %f = fn (%y: Tensor[(4), float32]) { sqrt(nn.relu(add(%y, %0))) };
          let %g = match ((%0, %c)) { (%a, _) => tanh(negative(%a)) };
          if (%c) { sqrt(nn.relu(%f(%g))) } else { tanh(exp(%0)) }
        }
        """,
        "exp",
        "add nn.relu sqrt",
        "negative tanh",
        "nn.relu sqrt",
        "exp tanh",
    )


def test_recursive_functions_are_entered():
    text = """
    def @main(%x: Tensor[(4), float32], %n: int32) {
      let %loop = fn (%i: int32, %y: Tensor[(4), float32]) -> Tensor[(4), float32] {
        if (less(%i, 1)) { sqrt(nn.relu(%y)) } else { %loop(subtract(%i, 1), add(exp(%y), %x)) }
      };
      add(%loop(%n, negative(%x)), %x)
    }
    """
    assert_kernels(text, "less", "nn.relu sqrt", "subtract", "exp add", "negative", "add")
    args = (np.linspace(-1, 1, 4, dtype="float32"), np.int32(3))
    assert_same_value(evaluate(fused(text), *args), evaluate(parse(text), *args))


GRAPH = """
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(32, 16), float32], %b: Tensor[(32), float32]) {
  %0 = nn.dense(%x, %w);
  %1 = add(%0, %b);
  %2 = sigmoid(%1);
  %3 = multiply(%1, %2);
  %4 = split(%3, indices_or_sections=2, axis=1);
  %5 = %4.0;
  %6 = exp(%5);
  %7 = %4.1;
  %8 = (%6, %7);
  %9 = concatenate(%8, axis=1);
  %10 = sum(%9, axis=[1], keepdims=True);
  divide(%9, %10)
}
"""


def test_a_normal_form_has_the_kernels_of_its_graph():
    lets = GRAPH.replace("divide(%9, %10)", "%11 = divide(%9, %10); %11")
    for i in range(11, -1, -1):
        lets = lets.replace(f"%{i} =", f"let %v{i} =").replace(f"%{i}", f"%v{i}")
    expected = kernels(fused(GRAPH))
    assert expected == ["nn.dense add sigmoid multiply", "split exp concatenate", "sum divide"]
    assert kernels(fused(lets)) == expected
    assert explain_fusion(parse(GRAPH))[:-1] == explain_fusion(parse(lets))[:-1]


def test_bindings_whose_values_go_into_a_kernel_are_gone():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32]) {
          let %a = nn.relu(%x); let %same = %a; let %b = exp(%same); let %c = argsort(%b); %c
        }
        """,
        """
        def @main(%x: Tensor[(4), float32]) {
          let %b = fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] {
            exp(nn.relu(%p0))
          }(%x);
          let %c = fn (%p0: Tensor[(4), float32], Primitive=1) -> Tensor[(4), int32] {
            argsort(%p0)
          }(%b);
          %c
        }
        """,
    )


def test_a_binding_that_promises_a_size_stays():
    mod = fused(
        """
        def @main(%x: Tensor[(?), float32]) {
          let %a: Tensor[(4), float32] = nn.relu(%x);
          exp(%a)
        }
        """
    )
    assert kernels(mod) == ["nn.relu", "exp"]
    with pytest.raises(relay.RelayError, match="extent"):
        evaluate(mod, np.ones(3, "float32"))


def test_a_binding_outside_of_a_function_is_not_computed_for_every_call():
    assert_kernels(
        """
        def @main(%x: Tensor[(4), float32]) {
          let %a = exp(%x);
          fn (%y: Tensor[(4), float32]) { add(%a, %y) }
        }
        """,
        "exp",
        "add",
    )


# --- effects -------------------------------------------------------------------------------------


def test_what_is_read_is_read_before_it_is_written():
    text = """
    def @main(%x: Tensor[(2), float32]) {
      let %r = ref(%x);
      let %a = nn.relu(ref_read(%r));
      let %b = exp(%x);
      let %_ = ref_write(%r, add(%a, 1f));
      (sqrt(%a), sqrt(%b), ref_read(%r))
    }
    """
    mod = fused(text)
    assert kernels(mod) == ["nn.relu", "add", "sqrt", "exp sqrt"]
    args = (np.array([4, 9], "float32"),)
    assert_same_value(evaluate(mod, *args), evaluate(parse(text), *args))


def test_effects_happen_once_and_in_their_order():
    seen = []

    def shown(e, name):
        return relay.op.get("debug")(e, debug_func=lambda value: seen.append((name, float(value))))

    x = relay.var("x", shape=())
    first, second, third = shown(x, "a"), shown(relay.exp(x), "b"), shown(relay.negative(x), "c")
    # `second` is deeper in the kernel than `first`, and comes after it
    body = relay.add(first, relay.multiply(relay.tanh(second), relay.add(third, first)))
    mod = relay.IRModule.from_expr(relay.Function([x], body))
    after = FuseOps()(mod)
    assert kernels(after) == ["exp", "negative", "tanh add multiply add"]
    expected = evaluate(InferType()(mod), np.float32(1))
    before, seen = list(seen), seen.clear() or seen
    assert_same_value(evaluate(after, np.float32(1)), expected)
    assert [name for name, _ in before] == ["a", "b", "c"]
    assert seen == before


def test_operators_with_state_are_fused_with_nothing():
    with relay.op.temporary_operators():
        relay.op.register_stateful("exp")
        assert_kernels(
            "def @main(%x: Tensor[(4), float32]) { let %a = exp(nn.relu(%x)); sqrt(%a) }",
            "nn.relu",
            "exp",
            "sqrt",
        )


# --- everything keeps its meaning ----------------------------------------------------------------


@given(programs())
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    typed = InferType()(module)
    after = FuseOps()(typed)
    check_well_formed(after)
    for name, function in typed.functions.items():
        assert after[name].checked_type == function.checked_type
        assert FuseOps()(after)[name] is after[name]
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


@given(programs(references=False, closures=False))
def test_every_operator_is_in_a_kernel(program):
    module, _ = program
    for function in FuseOps()(module).functions.values():
        for e in tree.postorder(function, enter=lambda e: not is_kernel(e)):
            assert not isinstance(e, relay.Call) or not isinstance(e.op, relay.op.OpDef)


# --- models and depth ----------------------------------------------------------------------------


def test_a_perceptron_is_a_kernel_for_every_layer():
    mod, _ = mlp.get_workload(batch_size=1)
    after = FuseOps()(mod)
    assert kernels(after) == [
        "nn.batch_flatten",
        "nn.dense nn.bias_add nn.relu",
        "nn.dense nn.bias_add nn.relu",
        "nn.dense nn.bias_add",
        "nn.softmax",
    ]
    assert after["main"].checked_type == InferType()(mod)["main"].checked_type


def test_a_residual_network_has_its_additions_in_convolutions():
    mod, _ = resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10)
    after = FuseOps()(mod)
    found = kernels(after)
    assert all(k.count("conv2d") <= 1 for k in found)
    assert found.count("nn.conv2d add") == 8
    total = sum(len(k.split()) for k in found)
    counts = relay.analysis.list_op_freqs(mod)
    assert total == sum(counts.values())
    assert_structural_equal(DefuseOps()(after), InferType()(mod))


@pytest.mark.parametrize("bound", [False, True])
def test_a_deep_program_is_fused(bound):
    limit = sys.getrecursionlimit()
    x = value = relay.var("x", shape=(4,))
    lets = []
    for i in range(deep(20_000)):
        value = relay.maximum(value, value) if i % 2 else relay.nn.relu(value)
        if bound:
            lets.append((relay.var("v"), value))
            value = lets[-1][0]
    for variable, computed in reversed(lets):
        value = relay.Let(variable, computed, value)
    after = FuseOps()(relay.IRModule.from_expr(relay.Function([x], value)))
    assert len(kernels(after)) == -(-deep(20_000) // 256)
    assert sys.getrecursionlimit() == limit


# --- reasons -------------------------------------------------------------------------------------


def test_every_kernel_can_say_why_it_ends():
    found = explain_fusion(
        parse(
            """
            def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {
              argsort(nn.relu(nn.dense(exp(%x), %w)))
            }
            """
        )
    )
    assert [str(group) for group in found] == [
        "@main: exp | exp -> nn.dense: "
        "a kernel with an anchor takes in elementwise operators only, and none before it",
        "@main: nn.dense nn.relu | nn.relu -> argsort: an opaque operator is a kernel of its own",
        "@main: argsort | argsort -> Function: the value is the result of its function or branch",
    ]
    assert found[1].operators == ("nn.dense", "nn.relu")
    assert found[1].boundary.producer == "nn.relu"
    assert explain_fusion(parse("def @main(%x: int32) { %x }")) == []


def test_kernels_that_are_there_already_are_told_of():
    mod = FuseOps()(parse("def @main(%x: Tensor[(4), float32]) { argsort(exp(nn.relu(%x))) }"))
    assert [str(group) for group in explain_fusion(mod)] == [
        "@main: argsort | argsort -> Function: "
        "the function is primitive already, and kept as it is",
        "@main: nn.relu exp | exp -> Function: "
        "the function is primitive already, and kept as it is",
    ]


def test_costs_are_told_with_their_numbers():
    text = """
    def @main(%x: Tensor[(16, 1000000), float32]) {
      divide(%x, sum(%x, axis=[1], keepdims=True))
    }
    """
    assert str(explain_fusion(parse(text))[0]) == (
        "@main: sum | sum -> divide: a row has 8000004 bytes, and 524288 stay in the cache for the "
        "next pass"
    )


# --- reductions in all of the language -----------------------------------------------------------

SOFTMAX = """
    %{0} = exp(subtract(%{x}, max(%{x}, axis=[1], keepdims=True)));
    divide(%{0}, sum(%{0}, axis=[1], keepdims=True))
"""


def softmax(x, n):
    return SOFTMAX.replace("{0}", str(n)).replace("{x}", x)


def test_reductions_are_fused_in_branches_clauses_closures_and_recursive_functions():
    kernel = "max subtract exp sum divide"
    text = f"""
    def @main(%x: Tensor[(3, 5), float32], %n: int32) {{
      let %f = fn (%y: Tensor[(3, 5), float32]) {{ {softmax("y", 0)} }};
      let %g = match ((%x, %n)) {{ (%a, _) => {{ {softmax("a", 1)} }} }};
      let %loop = fn (%i: int32, %z: Tensor[(3, 5), float32]) -> Tensor[(3, 5), float32] {{
        if (less(%i, 1)) {{ {softmax("z", 2)} }}
        else {{ %loop(subtract(%i, 1), {{ {softmax("z", 3)} }}) }}
      }};
      add(%loop(%n, %f(%g)), %x)
    }}
    """
    mod = fused(text)
    check_well_formed(mod)
    assert sorted(kernels(mod)) == sorted([kernel] * 4 + ["less", "subtract", "add"])
    args = (np.linspace(-1, 1, 15, dtype="float32").reshape(3, 5), np.int32(2))
    expected = evaluate(parse(text), *args)
    assert_same_value(evaluate(mod, *args), expected)
    np.testing.assert_allclose(
        relay.compile(parse(text))(*args), expected.numpy(), rtol=1e-5, atol=1e-6
    )
