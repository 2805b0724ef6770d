"""Which operators make one kernel, and why not more."""

import random

import numpy as np
import pytest

import relay
from relay import tree
from relay.check.infer import infer_module
from relay.op.opdef import FusionKind
from relay.testing import assert_same_value
from relay.transform import FuseOps
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_groups import Groups
from relay.transform.fusion.fusion_rows import Rows, lay_out

HEADER = '#[version = "0.0.5"]\n'
DENSE = "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]"


def groups_of(function, limit=256):
    return Groups(Dataflow(function), 2, limit)


def grouped(groups):
    """(the operators of a group, why it ends) for every group."""
    names = {}
    for node, root in zip(groups.nodes, groups.root, strict=True):
        if node.is_operator:
            names.setdefault(root, []).append(node.name)
    return [(" ".join(names[root]), str(groups.boundary(root))) for root in sorted(names)]


def assert_groups(body, *expected, params="%x: Tensor[(4, 4), float32]"):
    """Each of `expected`: the operators, or these and how the group ends."""
    mod = relay.parse(f"{HEADER}def @main({params}) {{ {body} }}")
    found = grouped(groups_of(mod["main"]))
    wanted = [e if isinstance(e, tuple) else (e,) for e in expected]
    assert [f[: len(w)] for f, w in zip(found, wanted, strict=True)] == wanted


ONLY_BEHIND = "a kernel with an anchor takes in elementwise operators only, and none before it"
ONE_ANCHOR = "a kernel has at most one anchor"
BEHIND_ANCHOR = "an anchor is followed by elementwise operators only"
REDUCTION = "a reduction takes in elementwise operators only"
OUTSIDE_TUPLE = "a tuple that no operator takes in is outside of all kernels"
RESULT = "the value is the result of its function or branch"
ELSEWHERE = "the value is needed in another function or branch"
NO_OPERATOR = "the value is needed by what is no operator"


# --- elementwise, broadcast, injective -----------------------------------------------------------


def test_elementwise_broadcast_and_injective_operators_chain():
    assert_groups(
        "exp(transpose(add(reshape(%x, newshape=[4, 1, 4]), 1f), axes=[2, 1, 0]))",
        ("reshape add transpose exp", f"exp -> Function: {RESULT}"),
    )


def test_all_paths_of_a_diamond_come_along():
    assert_groups(
        "%0 = exp(%x); %1 = sqrt(%0); add(add(%1, negative(%1)), transpose(%0))",
        "exp sqrt negative add transpose add",
    )


def test_paths_that_do_not_meet_end_a_group():
    assert_groups(
        "%0 = exp(%x); (sqrt(%0), argsort(%0))",
        ("exp", f"exp -> Tuple: {OUTSIDE_TUPLE}"),
        ("sqrt", f"sqrt -> Tuple: {OUTSIDE_TUPLE}"),
        "argsort",
    )
    assert_groups(
        "%0 = exp(%x); if (%c) { sqrt(%0) } else { negative(%0) }",
        ("exp", f"exp -> negative: {ELSEWHERE}"),
        "sqrt",
        "negative",
        params="%x: Tensor[(4, 4), float32], %c: bool",
    )


def test_values_leave_in_several_ways():
    params = "%x: Tensor[(4, 4), float32], %c: bool"
    assert_groups(
        "if (less(sum(exp(%x)), 1f)) { sqrt(%x) } else { let %y = tanh(%x); %y }",
        ("exp sum less", f"less -> If: {NO_OPERATOR}"),
        ("sqrt", f"sqrt -> If: {RESULT}"),
        ("tanh", f"tanh -> Let: {RESULT}"),
        params=params,
    )
    assert_groups(
        "match ((%x, ref(exp(%x)))) { (%a, _) => sqrt(%a) }",
        ("exp", f"exp -> RefCreate: {NO_OPERATOR}"),
        ("sqrt", f"sqrt -> Clause: {RESULT}"),
    )


def test_what_nobody_needs_is_a_group_of_its_own():
    assert_groups(
        "let %a = exp(%x); sqrt(%x)", ("exp", "exp -> nothing: the value is not used"), "sqrt"
    )


# --- anchors -------------------------------------------------------------------------------------


def test_an_anchor_takes_in_what_is_elementwise_behind_it():
    assert_groups(
        "nn.relu(add(nn.dense(exp(%x), %w), negative(%b)))",
        ("exp", f"exp -> nn.dense: {ONLY_BEHIND}"),
        "nn.dense negative add nn.relu",
        params=f"{DENSE}, %b: Tensor[(4), float32]",
    )


def test_an_anchor_is_not_stretched_moved_or_reduced():
    for consumer in ("add(%0, %b)", "transpose(%0)", "sum(%0)"):
        name = consumer.partition("(")[0]
        assert_groups(
            f"%0 = nn.dense(%x, %w); {consumer}",
            ("nn.dense", f"nn.dense -> {name}: {BEHIND_ANCHOR}"),
            name,
            params=f"{DENSE}, %b: Tensor[(2, 4, 4), float32]",
        )


def test_a_group_has_one_anchor():
    assert_groups(
        "%0 = nn.dense(%x, %w); argsort(add(%0, nn.dense(%w, %0)))",
        ("nn.dense", f"nn.dense -> nn.dense: {ONE_ANCHOR}"),
        "nn.dense add",
        "argsort",
        params=DENSE,
    )
    assert_groups(
        "add(nn.dense(%x, %w), transpose(nn.dense(%w, %x)))",
        ("nn.dense", f"nn.dense -> transpose: {BEHIND_ANCHOR}"),
        ("transpose", f"transpose -> add: {ONLY_BEHIND}"),
        "nn.dense add",
        params=DENSE,
    )


def test_of_two_anchors_the_first_takes_in_what_is_behind_both():
    mod = relay.parse(f"{HEADER}def @main({DENSE}) {{ add(nn.dense(%x, %w), nn.dense(%w, %x)) }}")
    groups = groups_of(mod["main"])
    assert groups.root == [2, 1, 2]
    assert str(groups.boundary(1)) == f"nn.dense -> add: {ONE_ANCHOR}"


def test_a_residual_block_goes_through_its_anchor():
    assert_groups(
        "%0 = exp(%x); nn.relu(add(nn.dense(%0, %w), %0))",
        ("exp", f"exp -> nn.dense: {ONLY_BEHIND}"),
        "nn.dense add nn.relu",
        params=DENSE,
    )


def test_what_is_needed_twice_behind_an_anchor_joins_it_whichever_comes_first():
    for operands, expected in [
        ("%1, %0", "nn.dense exp add multiply"),
        ("%0, %1", "exp nn.dense add multiply"),
    ]:
        body = f"%0 = exp(%x); %1 = nn.dense(%x, %w); multiply(add({operands}), %0)"
        assert_groups(body, expected, params=DENSE)


def test_an_anchor_does_not_join_what_is_transposed_later():
    # the diamond from `exp` to the last `add` was a group before, with `%1` in it
    assert_groups(
        "%0 = exp(%x); %1 = add(%0, nn.dense(%x, %w)); add(transpose(%1), %0)",
        ("nn.dense", f"nn.dense -> add: {BEHIND_ANCHOR}"),
        "exp add transpose add",
        params=DENSE,
    )


def test_an_unknown_extent_may_be_stretched():
    params = "%x: Tensor[(?, 4), float32], %w: Tensor[(4, 4), float32], %b: Tensor[(?, 4), float32]"
    assert_groups("nn.relu(nn.dense(%x, %w))", "nn.dense nn.relu", params=params)
    assert_groups("add(nn.dense(%x, %w), %b)", "nn.dense", "add", params=params)
    named = params.replace("?", "n")
    mod = relay.parse(f"{HEADER}def @main[n: Shape]({named}) {{ add(nn.dense(%x, %w), %b) }}")
    assert [names for names, _ in grouped(groups_of(mod["main"]))] == ["nn.dense add"]


# --- reductions ----------------------------------------------------------------------------------


def test_a_reduction_takes_in_what_it_reduces_and_what_is_made_of_it():
    assert_groups("sqrt(sum(multiply(%x, exp(%x)), axis=[1]))", "exp multiply sum sqrt")
    assert_groups("sum(transpose(%x))", ("transpose", f"transpose -> sum: {REDUCTION}"), "sum")


def test_paths_through_a_reduction_meet_again():
    assert_groups("%0 = exp(%x); divide(%0, sum(%0, axis=[1], keepdims=True))", "exp sum divide")


SOFTMAX = """
    %0 = max(%x, axis=[-1], keepdims=True); %1 = exp(subtract(%x, %0));
    divide(%1, sum(%1, axis=[-1], keepdims=True))"""
LOG_SOFTMAX = """
    %0 = subtract(%x, max(%x, axis=[-1], keepdims=True));
    subtract(%0, log(sum(exp(%0), axis=[-1], keepdims=True)))"""
LAYER_NORM = """
    %0 = subtract(%x, mean(%x, axis=[-1], keepdims=True));
    %1 = mean(power(%0, 2f), axis=[-1], keepdims=True);
    add(multiply(divide(%0, sqrt(add(%1, 1e-5f))), %g), %b)"""
LAYER_NORM_OF_VARIANCE = """
    %0 = mean(%x, axis=[-1], keepdims=True);
    %1 = variance(%x, %0, axis=[-1], keepdims=True);
    add(multiply(multiply(subtract(%x, %0), rsqrt(add(%1, 1e-5f))), %g), %b)"""
RMS_NORM = """
    %0 = mean(multiply(%x, %x), axis=[-1], keepdims=True);
    multiply(%g, multiply(%x, rsqrt(add(%0, 1e-6f))))"""
L2_NORMALIZE = """
    %0 = sum(multiply(%x, %x), axis=[-1], keepdims=True);
    divide(%x, sqrt(maximum(%0, 1e-12f)))"""
CENTERED = "subtract(%x, expand_dims(mean(%x, axis=[-1]), axis=-1))"
ROWWISE = (SOFTMAX, LOG_SOFTMAX, LAYER_NORM, LAYER_NORM_OF_VARIANCE, RMS_NORM, L2_NORMALIZE)
ROW_PARAMS = "%x: Tensor[{}, float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32]"


@pytest.mark.parametrize("shape", ["(32, 64)", "(2, 3, 64)", "(1, 64)", "(64)", "(4096, 64)"])
@pytest.mark.parametrize("body", [*ROWWISE, CENTERED])
def test_normalizations_written_by_hand_are_one_kernel(body, shape):
    params = ROW_PARAMS.format(shape)
    mod = relay.parse(f"{HEADER}def @main({params}) {{ {body} }}")
    assert len(grouped(groups_of(mod["main"]))) == 1


@pytest.mark.parametrize("body", [*ROWWISE, CENTERED])
def test_so_they_are_over_sizes_that_a_run_finds(body):
    for shape in ("(n, 64)", "(n, m, 64)"):
        params = ROW_PARAMS.format(shape)
        mod = relay.parse(f"{HEADER}def @main[n: Shape, m: Shape]({params}) {{ {body} }}")
        assert len(grouped(groups_of(mod["main"]))) == 1


def test_statistics_of_channels_are_one_kernel():
    assert_groups(
        """
        %0 = mean(%x, axis=[0, 2, 3], keepdims=True);
        divide(subtract(%x, %0), sqrt(variance(%x, %0, axis=[0, 2, 3], keepdims=True)))
        """,
        "mean subtract variance sqrt divide",
        params="%x: Tensor[(2, 16, 8, 8), float32]",
    )


def test_statistics_of_columns_are_one_kernel_where_that_saves_several_passes():
    params = "%x: Tensor[(64, 4096), float32]"
    assert_groups(
        """
        %0 = subtract(%x, mean(%x, axis=[0], keepdims=True));
        divide(%0, sqrt(mean(multiply(%0, %0), axis=[0], keepdims=True)))
        """,
        "mean subtract multiply mean sqrt divide",
        params=params,
    )
    assert_groups(
        "subtract(%x, mean(%x, axis=[0]))",
        (
            "mean",
            "mean -> subtract: one kernel would take 13429964 steps, those apart take 12730368: "
            "it moves 2097152 bytes instead of 3178496, and computes 524288 steps instead of "
            "524288",
        ),
        "subtract",
        params=params,
    )


def test_operators_on_rows_take_in_what_is_elementwise_before_and_behind_them():
    params = ROW_PARAMS.format("(32, 64)")
    assert_groups("negative(nn.softmax(multiply(%x, 2f)))", "multiply nn.softmax negative")
    assert_groups(
        "nn.relu(nn.layer_norm(add(%x, tanh(%x)), %g, %b))",
        "tanh add nn.layer_norm nn.relu",
        params=params,
    )
    assert_groups(
        "nn.softmax(nn.dense(%x, %w))",
        ("nn.dense", f"nn.dense -> nn.softmax: {BEHIND_ANCHOR}"),
        "nn.softmax",
        params=DENSE,
    )


ROWS_DIFFER = "the reductions of a kernel are over the same axes of the same rows"
ROWS_MOVE = "what is made of a reduction stays in the row that was reduced"
ROWS_CROSS = "the rows of a kernel lie in memory the same way, for what it reads and what it makes"
NOT_IN_ROWS = "a kernel of several passes over rows has elementwise operators and reductions only"


def test_reductions_over_other_axes_are_apart():
    assert_groups("sum(max(%x, axis=[1]), axis=[0])", ("max", f"max -> sum: {ROWS_DIFFER}"), "sum")
    assert_groups(
        "%0 = divide(%x, sum(%x, axis=[1], keepdims=True)); divide(%0, max(%0, axis=[0]))",
        ("sum divide", f"divide -> max: {ROWS_DIFFER}"),
        "max divide",
    )


def test_rows_are_not_mixed():
    assert_groups(
        "%0 = sum(%x, axis=[1], keepdims=True); add(%0, sum(%x, axis=[1]))",
        ("sum", f"sum -> add: {ROWS_MOVE}"),
        "sum add",
    )
    assert_groups(
        "divide(%x, sum(%x, axis=[1]))", ("sum", f"sum -> divide: {ROWS_CROSS}"), "divide"
    )
    assert_groups(
        "%0 = sum(%x, axis=[1], keepdims=True); divide(%x, transpose(%0))",
        ("sum", f"sum -> transpose: {NOT_IN_ROWS}"),
        "transpose divide",
    )


def test_rows_that_no_cache_holds_are_read_by_several_kernels():
    assert_groups(
        "divide(%x, sum(%x, axis=[1], keepdims=True))",
        (
            "sum",
            "sum -> divide: a row has 8000004 bytes, and 524288 stay in the cache for the next "
            "pass",
        ),
        "divide",
        params="%x: Tensor[(16, 1000000), float32]",
    )
    # what is made of the sums alone needs no second pass
    assert_groups(
        "sqrt(sum(%x, axis=[1]))", "sum sqrt", params="%x: Tensor[(16, 1000000), float32]"
    )
    assert_groups(
        "subtract(%x, mean(%x, axis=[0]))",
        (
            "mean",
            "mean -> subtract: 64 rows that are read together have 5120256 bytes, and 524288 "
            "stay in the cache for the next pass",
        ),
        "subtract",
        params="%x: Tensor[(10000, 256), float32]",
    )


def centered(times):
    x = y = relay.var("x", shape=(16, 16))
    for _ in range(times):
        y = relay.subtract(y, relay.mean(y, axis=-1, keepdims=True))
    return infer_module(relay.IRModule.from_expr(relay.Function([x], y)))["main"]


def test_a_kernel_makes_a_few_passes_only():
    found = grouped(groups_of(centered(20)))
    assert [len(names.split()) for names, _ in found] == [16, 16, 8]
    assert found[0][1] == (
        "subtract -> subtract: the reductions of a kernel make at most 8 passes over its rows"
    )


def test_long_chains_of_reductions_take_no_longer_than_they_are():
    assert len(grouped(groups_of(centered(2000)))) == 250


def test_where_there_are_few_rows_threads_take_the_elements():
    assert_groups(
        "%0 = exp(%x); divide(%0, sum(%0, axis=[1], keepdims=True))",
        (
            "exp",
            "exp -> divide: threads share out rows, and 2 are too few for 768000 steps",
        ),
        "sum",
        "divide",
        params="%x: Tensor[(2, 16000), float32]",
    )


# --- tuples --------------------------------------------------------------------------------------


def test_a_tuple_is_inside_with_all_that_it_is_made_of():
    assert_groups("exp(concatenate((exp(%x), transpose(%x))))", "exp transpose concatenate exp")


def test_tuples_in_tuples_are_inside():
    assert_groups(
        "concatenate((concatenate((exp(%x), %x)), concatenate((sqrt(%x), %x))))",
        "exp concatenate sqrt concatenate concatenate",
    )


def test_anchors_stay_out_of_tuples():
    assert_groups(
        "concatenate((nn.relu(nn.dense(%x, %w)), exp(%x)))",
        ("nn.dense nn.relu", f"nn.relu -> Tuple: {OUTSIDE_TUPLE}"),
        "exp concatenate",
        params=DENSE,
    )


def test_a_tuple_is_not_the_result():
    assert_groups(
        "(exp(%x), sqrt(%x))",
        ("exp", f"exp -> Tuple: {OUTSIDE_TUPLE}"),
        ("sqrt", f"sqrt -> Tuple: {OUTSIDE_TUPLE}"),
    )


def test_fields_that_meet_again_are_inside():
    assert_groups(
        "%0 = split(%x, indices_or_sections=2); add(exp(%0.0), multiply(%0.1, %0.0))",
        "split exp multiply add",
    )


# --- opaque operators ----------------------------------------------------------------------------


def test_an_opaque_operator_is_alone():
    why = "an opaque operator is a kernel of its own"
    assert_groups(
        "exp(sort(exp(%x)))", ("exp", f"exp -> sort: {why}"), ("sort", f"sort -> exp: {why}"), "exp"
    )


def test_an_operator_whose_shape_depends_on_values_is_alone():
    assert_groups(
        "exp(dyn.reshape(exp(%x), add(%s, 0i64)))",
        "exp",
        "add",
        "dyn.reshape",
        "exp",
        params="%x: Tensor[(4, 4), float32], %s: Tensor[(2), int64]",
    )


def test_nothing_is_fused_where_tensors_change():
    assert_groups(
        "let %k = memory.kill(%x); sqrt(exp(%x))",
        ("exp", "exp -> sqrt: nothing is fused here"),
        "sqrt",
    )


# --- random graphs -------------------------------------------------------------------------------

SQUARE = (4, 4)


def random_graph(seed, size):
    """A graph of operators of all kinds on square matrices."""
    rng = random.Random(seed)
    x, w = relay.var("x", shape=SQUARE), relay.var("w", shape=SQUARE)
    made = [x, w]

    def recent():
        return made[-1 - min(int(rng.expovariate(0.5)), len(made) - 1)]

    for _ in range(size):
        a, b = recent(), recent()
        kind = rng.randrange(12)
        if kind < 3:
            made.append(rng.choice([relay.tanh, relay.nn.relu, relay.negative])(a))
        elif kind < 6:
            made.append(rng.choice([relay.add, relay.maximum])(a, b))
        elif kind == 6:
            made.append(relay.transpose(a))
        elif kind == 7:
            made.append(relay.add(b, relay.mean(a, axis=1, keepdims=True)))
        elif kind == 8:
            made.append(relay.nn.dense(a, w) * relay.const(0.25))
        elif kind == 9:
            made.append(relay.sort(a))
        elif kind == 10:
            parts = relay.split(a, 2, axis=0)
            made.append(
                relay.concatenate([parts[rng.randrange(2)], parts[0]], axis=rng.randrange(1))
            )
        else:
            stacked = relay.concatenate([a, b], axis=0)
            made.append(relay.strided_slice(stacked, [2, 0], [6, 4]))
    results = relay.Tuple(made[-2:]) if rng.randrange(3) == 0 else made[-1]
    return infer_module(relay.IRModule.from_expr(relay.Function([x, w], results)))


def with_lets(function):
    """`function` in A-normal form: every computation is bound, in the order of evaluation."""
    bound, lets = {}, []
    for e in tree.postorder(function.body):
        if not isinstance(e, relay.Var | relay.Constant | relay.op.OpDef):
            value = tree.rebuild(e, [bound.get(child, child) for child in tree.children(e)])
            bound[e] = relay.var("v")
            lets.append((bound[e], value))
    body = bound[function.body]
    for variable, value in reversed(lets):
        body = relay.Let(variable, value, body)
    return infer_module(relay.IRModule.from_expr(relay.Function(function.params, body)))


def assert_invariants(groups, limit=256):
    """What every group is."""
    members = {}
    for i, root in enumerate(groups.root):
        members.setdefault(root, set()).add(i)
    for root, inside in members.items():
        kinds = [groups.nodes[i].kind for i in inside]
        assert groups.operators(root) == sum(groups.nodes[i].is_operator for i in inside) <= limit
        for i in inside - {root}:
            # nothing but the root is needed outside
            assert groups.nodes[i].leaves_to is None
            assert all(user in inside for user, _ in groups.nodes[i].outputs)
        if len(inside) > 1:
            assert FusionKind.OPAQUE not in kinds
            assert groups.nodes[root].kind is not FusionKind.TUPLE
        anchors = [i for i in inside if groups.nodes[i].kind is FusionKind.OUT_ELEMWISE_FUSABLE]
        reductions = [i for i in inside if groups.nodes[i].kind is FusionKind.COMM_REDUCE]
        assert len(anchors) <= 1
        assert not (anchors and reductions)
        if len(reductions) > 1:
            assert isinstance(lay_out(groups.flow, sorted(inside)), Rows)
        reached = list(anchors)
        for i in reached:
            if i != root:
                assert all(edge is FusionKind.ELEMWISE for _, edge in groups.nodes[i].outputs)
                reached.extend(user for user, _ in groups.nodes[i].outputs if user not in reached)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs_fall_into_kernels(seed):
    mod = random_graph(seed, 40)
    groups = groups_of(mod["main"])
    assert_invariants(groups)
    assert_invariants(groups_of(mod["main"], limit=3), limit=3)
    # a normal form has the same groups, and for the same reasons
    bound = groups_of(with_lets(mod["main"])["main"])
    assert bound.root == groups.root
    inputs = [np.random.default_rng(seed).normal(size=SQUARE).astype("float32") for _ in range(2)]

    def evaluate(module):
        return relay.create_executor("debug", module).evaluate()(*inputs)

    expected = evaluate(mod)
    for module in (mod, with_lets(mod["main"])):
        assert_same_value(evaluate(FuseOps()(module)), expected)


# --- constants -----------------------------------------------------------------------------------

ONCE = "what is made of constants alone is computed once, and not in every call"


def of_constants(body, *arrays):
    """The groups of a body over `%x` and constants `%a`, `%b`, …"""
    names = [f"%{chr(ord('a') + place)}" for place in range(len(arrays))]
    shapes = [f"{n}: Tensor[{a.shape}, float32]" for n, a in zip(names, arrays, strict=True)]
    params = ", ".join(["%x: Tensor[(4, 4), float32]", *shapes])
    main = relay.parse(f"{HEADER}def @main({params}) {{ {body} }}")["main"]
    known = {p: relay.const(a) for p, a in zip(main.params[1:], arrays, strict=True)}
    function = relay.Function(main.params[:1], relay.bind(main.body, known))
    return grouped(groups_of(infer_module(relay.IRModule.from_expr(function))["main"]))


def test_what_is_made_of_constants_alone_is_a_kernel_of_its_own():
    a, b = np.ones((4, 4), "float32"), np.ones((4, 4), "float32")
    assert of_constants("nn.relu(%x + exp(%a * %b))", a, b) == [
        ("multiply exp", f"exp -> add: {ONCE}"),
        ("add nn.relu", f"nn.relu -> Function: {RESULT}"),
    ]


def test_what_would_be_much_larger_than_the_constants_is_computed_in_every_call():
    a = np.ones((1, 1), "float32")
    body = "sum(broadcast_to(%a, shape=[512, 512])) + %x"
    assert [names for names, _ in of_constants(body, a)] == ["broadcast_to sum add"]
