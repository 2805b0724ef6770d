"""Matrix products of one input become one product."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops
from relay.transform import CombineParallelDense, InferType, PassContext, Sequential

HEADER = '#[version = "0.0.5"]\n'
BATCH, WIDE = CombineParallelDense(), CombineParallelDense(to_batch=False)


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def main(params, body):
    """A program in which all parameters but `%x` and `%y` are weights."""
    names = [part.split(":")[0].strip().lstrip("%") for part in params.split(", %")]
    weights = ", ".join(f'"{name}"' for name in names if name not in ("x", "y"))
    return f"def @main({params}, Weights=[{weights}]) {{ {body} }}"


def assert_rewrites(combine, before, after):
    result = combine(parse(before))
    assert_structural_equal(result, parse(after))
    assert combine(result)["main"] is result["main"]
    assert_same_meaning(parse(before), result)


def assert_stays(combine, source):
    before = parse(source)
    assert combine(before)["main"] is before["main"]


def assert_same_meaning(before, after):
    rng = np.random.default_rng(0)
    types = [p.checked_type for p in before["main"].params]
    given = [
        np.array(True) if t.dtype == "bool" else rng.normal(size=t.concrete_shape).astype(t.dtype)
        for t in types
    ]
    results = [relay.create_executor("debug", m).evaluate()(*given) for m in (before, after)]
    fields = [getattr(result, "fields", [result]) for result in results]
    for one, other in zip(*fields, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-9, atol=1e-11)


def t(*shape, dtype="float64"):
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


BIASES = f"%p: {t(3)}, %q: {t(3)}, %r: {t(3)}"
SAME = f"%x: {t(2, 4)}, %a: {t(3, 4)}, %b: {t(3, 4)}, %c: {t(3, 4)}, {BIASES}"
BIASES = f"%p: {t(3)}, %q: {t(1)}, %r: {t(5)}"
OTHER = f"%x: {t(2, 4)}, %a: {t(3, 4)}, %b: {t(1, 4)}, %c: {t(5, 4)}, {BIASES}"

# --- a batch -------------------------------------------------------------------------------------


def test_products_of_equal_shapes_become_a_batch():
    assert_rewrites(
        BATCH,
        main(SAME, "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"),
        main(
            SAME,
            """
            %0 = nn.batch_matmul(expand_dims(%x, axis=0), stack((%a, %b, %c)), transpose_b=True);
            (
              squeeze(strided_slice(%0, begin=[0], end=[1], axes=[0]), axis=[0]),
              squeeze(strided_slice(%0, begin=[1], end=[2], axes=[0]), axis=[0]),
              squeeze(strided_slice(%0, begin=[2], end=[3], axes=[0]), axis=[0])
            )
            """,
        ),
    )


@pytest.mark.parametrize("bias", ["nn.bias_add(D, B)", "D + B", "B * D"])
def test_what_follows_in_all_branches_joins_the_batch(bias):
    def branch(w, b):
        return f"nn.relu({bias.replace('D', f'nn.dense(%x, %{w})').replace('B', f'%{b}')})"

    before = parse(
        main(SAME, f"({branch('a', 'p')}, tanh({branch('b', 'q')}), {branch('c', 'r')})")
    )
    after = BATCH(before)
    counts = count_ops(after["main"])
    assert counts["nn.batch_matmul"] == counts["nn.relu"] == counts["tanh"] == 1
    assert counts["nn.dense"] == counts["nn.bias_add"] == 0
    assert_same_meaning(before, after)


def test_products_of_other_shapes_stay():
    assert_stays(BATCH, main(OTHER, "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"))
    params = SAME.replace("(2, 4)", "(2, 2, 4)")
    assert_stays(BATCH, main(params, "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"))


# --- side by side --------------------------------------------------------------------------------


def test_products_of_any_width_become_one():
    assert_rewrites(
        WIDE,
        main(OTHER, "(nn.dense(%x, %a, units=3), nn.dense(%x, %b), nn.dense(%x, %c))"),
        main(
            OTHER,
            """
            %0 = nn.dense(%x, concatenate((%a, %b, %c)), units=9);
            (
              strided_slice(%0, begin=[0], end=[3], axes=[1]),
              strided_slice(%0, begin=[3], end=[4], axes=[1]),
              strided_slice(%0, begin=[4], end=[9], axes=[1])
            )
            """,
        ),
    )


def test_what_follows_joins_as_far_as_it_is_the_same():
    assert_rewrites(
        WIDE,
        main(
            OTHER,
            """
            (
              tanh(nn.relu(nn.bias_add(nn.dense(%x, %a), %p)) * 2f64),
              tanh(nn.relu(nn.bias_add(nn.dense(%x, %b), %q)) * 2f64),
              exp(nn.relu(nn.bias_add(nn.dense(%x, %c), %r)) * 2f64)
            )
            """,
        ),
        main(
            OTHER,
            """
            %0 = nn.bias_add(nn.dense(%x, concatenate((%a, %b, %c))), concatenate((%p, %q, %r)));
            %1 = nn.relu(%0) * 2f64;
            (
              tanh(strided_slice(%1, begin=[0], end=[3], axes=[1])),
              tanh(strided_slice(%1, begin=[3], end=[4], axes=[1])),
              exp(strided_slice(%1, begin=[4], end=[9], axes=[1]))
            )
            """,
        ),
    )


@pytest.mark.parametrize(
    "branches",
    [
        # numbers that differ, operands on other sides, other attributes
        ("D * 2f64", "D * 3f64", "D * 2f64"),
        ("D / 2f64", "D / 2f64", "2f64 / D"),
        ("clip(D, a_min=0, a_max=1)", "clip(D, a_min=0, a_max=2)", "clip(D, a_min=0, a_max=1)"),
        ("nn.relu(D)", "tanh(D)", "nn.relu(D)"),
        # operands that are not fixed
        ("D + %x2", "D + %x2", "D + %x2"),
    ],
)
def test_what_differs_stays_behind(branches):
    params = SAME.replace("%a", f"%x2: {t(2, 3)}, %a", 1)
    calls = [b.replace("D", f"nn.dense(%x, %{w})") for b, w in zip(branches, "abc", strict=True)]
    before = parse(main(params, f"({', '.join(calls)})").replace('"x2", ', ""))
    after = WIDE(before)
    first = next(f for f in after["main"].body.fields)
    assert any(a.op.name == "strided_slice" for a in first.args if isinstance(a, relay.Call))
    assert_same_meaning(before, after)


def test_results_that_others_use_too_end_a_branch():
    before = parse(
        main(
            SAME,
            "%0 = nn.dense(%x, %a); (nn.relu(%0), %0, nn.relu(nn.dense(%x, %b)), "
            "nn.relu(nn.dense(%x, %c)))",
        )
    )
    after = WIDE(before)
    assert count_ops(after["main"]) == {
        "nn.dense": 1,
        "concatenate": 1,
        "strided_slice": 3,
        "nn.relu": 3,
    }
    assert_same_meaning(before, after)


def test_bindings_that_nobody_needs_any_more_go():
    assert_rewrites(
        WIDE,
        main(
            SAME,
            """
            let %v0 = nn.dense(%x, %a);
            let %v1 = %v0 + %p;
            let %v2 = nn.dense(%x, %b);
            let %v3 = %v2 + %q;
            let %v4 = nn.dense(%x, %c);
            let %v5 = %v4 + %r;
            (%v1, %v3, %v5)
            """,
        ),
        main(
            SAME,
            """
            %6 = nn.dense(%x, concatenate((%a, %b, %c))) + concatenate((%p, %q, %r));
            let %v1 = strided_slice(%6, begin=[0], end=[3], axes=[1]);
            let %v3 = strided_slice(%6, begin=[3], end=[6], axes=[1]);
            let %v5 = strided_slice(%6, begin=[6], end=[9], axes=[1]);
            (%v1, %v3, %v5)
            """,
        ),
    )


def test_weights_that_are_named_late_are_no_obstacle():
    before = parse(
        main(
            SAME,
            """
            let %d = nn.dense(%x, %a);
            let %u = exp(%b);
            let %v = %u * 2f64;
            let %e = nn.dense(%x, %v);
            let %w = %c + %u;
            let %f = nn.dense(%x, %w);
            (%d, %e, %f)
            """,
        )
    )
    after = WIDE(before)
    assert count_ops(after["main"])["nn.dense"] == 1
    assert_same_meaning(before, after)


def test_projections_of_attention_share_a_product_and_are_sliced_where_they_are_transposed():
    def heads(w):
        dense = f"reshape(nn.dense(%x, %{w}), newshape=[0, 0, 2, 64])"
        return f"transpose({dense}, axes=[0, 2, 1, 3])"

    params = f"%x: {t(1, 256, 128)}, " + ", ".join(f"%{w}: {t(128, 128)}" for w in "abc")
    before = parse(main(params, f"({heads('a')}, {heads('b')}, {heads('c')})"))
    assert count_ops(WIDE(before)["main"])["nn.dense"] == 1


def test_rows_may_get_another_shape_before_the_bias():
    params = f"%x: {t(6, 4)}, %a: {t(3, 4)}, %b: {t(1, 4)}, %c: {t(5, 4)}, {BIASES}"
    branch = "reshape(nn.dense(%x, %W), newshape=SHAPE) + %B"
    products = [
        branch.replace("W", w).replace("B", b).replace("SHAPE", shape)
        for w, b, shape in zip("abc", "pqr", ("[2, 3, 3]", "[2, -1, 1]", "[-1, 3, 5]"), strict=True)
    ]
    assert_rewrites(
        WIDE,
        main(params, f"({', '.join(products)})"),
        main(
            params,
            """
            %0 = reshape(concatenate((%p, %q, %r)), newshape=[9]);
            %1 = nn.dense(%x, concatenate((%a, %b, %c))) + %0;
            (
              reshape(strided_slice(%1, begin=[0], end=[3], axes=[1]), newshape=[2, 3, 3]),
              reshape(strided_slice(%1, begin=[3], end=[4], axes=[1]), newshape=[2, 3, 1]),
              reshape(strided_slice(%1, begin=[4], end=[9], axes=[1]), newshape=[2, 3, 5])
            )
            """,
        ),
    )


@pytest.mark.parametrize(
    ("step", "joins"),
    [
        ("nn.bias_add(R, %B, axis=2)", True),
        ("nn.bias_add(R, %B, axis=-1)", True),
        ("nn.relu(R * 2f64)", True),
        ("R * %n", True),
        ("R * reshape(%B, newshape=[1, 1, 3])", True),
        ("nn.prelu(R, %B, axis=2)", False),
        ("R + %h", False),
        ("nn.bias_add(R, %i, axis=1)", False),
    ],
)
def test_what_treats_all_rows_alike_comes_before_their_shape(step, joins):
    params = f"{SAME}, %n: {t(1, 1, 1)}, %h: {t(1, 2, 3)}, %i: {t(2)}"
    branch = step.replace("R", "reshape(nn.dense(%x, %W), newshape=[1, 2, 3])")
    products = [branch.replace("W", w).replace("B", b) for w, b in zip("abc", "pqr", strict=True)]
    before = parse(main(params, f"({', '.join(products)})"))
    after = WIDE(before)
    names = {e.op.name for e in after["main"].body.fields}
    assert names == {"reshape"} if joins else "reshape" not in names
    assert_same_meaning(before, after)


def test_gates_that_meet_are_read_together():
    params = f"%x: {t(64, 128)}, " + ", ".join(f"%{w}: {t(128, 128)}" for w in "abc")
    gates = "sigmoid(nn.dense(%x, %a)) * tanh(nn.dense(%x, %b)) + sigmoid(nn.dense(%x, %c))"
    before = parse(main(params, gates))
    after = WIDE(before)
    assert count_ops(after["main"])["nn.dense"] == 1
    assert_same_meaning(before, after)
    # each for itself they would be written and read once more
    apart = "(sigmoid(nn.dense(%x, %a)), tanh(nn.dense(%x, %b)), exp(nn.dense(%x, %c)))"
    assert_stays(WIDE, main(params, apart))


def test_wide_results_that_would_have_to_be_copied_stay():
    params = f"%x: {t(256, 128)}, " + ", ".join(f"%{w}: {t(128, 128)}" for w in "abc")
    products = "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"
    assert_stays(WIDE, main(params, products))
    # behind a reshape there would be a copy too
    flat = products.replace("nn.dense", "reshape(nn.dense").replace("),", "), newshape=[-1]),")
    assert_stays(WIDE, main(params, flat.replace("%c))", "%c), newshape=[-1]))")))


def test_narrow_results_are_joined_in_spite_of_the_copy():
    params = f"%x: {t(64, 1024)}, " + ", ".join(f"%{w}: {t(8, 1024)}" for w in "abc")
    before = parse(main(params, "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"))
    assert count_ops(WIDE(before)["main"])["nn.dense"] == 1


# --- where it does not fire ----------------------------------------------------------------------


@pytest.mark.parametrize("combine", [BATCH, WIDE])
@pytest.mark.parametrize(
    "body",
    [
        "(nn.dense(%x, %a), nn.dense(%x, %b))",
        "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(nn.relu(%x), %c))",
        "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %b))",
        "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %y))",
        "%0 = nn.dense(%x, %a); (%0, nn.dense(%x, %b), if (%z) { nn.dense(%x, %c) } else { %0 })",
        "let %f = fn () { nn.dense(%x, %c) }; (nn.dense(%x, %a), nn.dense(%x, %b), %f())",
        '(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c, out_dtype="float32"))',
    ],
)
def test_few_or_different_or_shared_or_conditional_products_stay(combine, body):
    assert_stays(combine, main(f"%z: bool, %y: {t(3, 4)}, {SAME}", body).replace('"z", ', ""))


def test_weights_that_are_given_in_every_call_stay():
    body = "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"
    assert_stays(BATCH, f"def @main({SAME}) {{ {body} }}")
    assert_stays(WIDE, f"def @main({SAME}) {{ {body} }}")


# --- the pass ------------------------------------------------------------------------------------


def test_branches_of_an_if_and_closures_are_joined_inside():
    products = "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"
    before = parse(
        main(f"%z: bool, {SAME}", f"if (%z) {{ {products} }} else {{ (%e, %e, %e) }}")
        .replace('"z", ', "")
        .replace("%e", 'zeros(shape=[2, 3], dtype="float64")')
    )
    for combine, name in ((BATCH, "nn.batch_matmul"), (WIDE, "nn.dense")):
        after = combine(before)
        assert count_ops(after["main"].body.true_branch)[name] == 1
        assert_same_meaning(before, after)


def test_how_many_branches_it_takes():
    body = "(nn.dense(%x, %a), nn.dense(%x, %b))"
    before = parse(main(SAME, body))
    after = CombineParallelDense(min_num_branches=2)(before)
    assert count_ops(after["main"])["nn.batch_matmul"] == 1
    for count in (1, 0, "3", True):
        with pytest.raises(PassError, match="two branches or more"):
            CombineParallelDense(min_num_branches=count)


def test_it_belongs_to_level_four():
    before = parse(main(SAME, "(nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))"))
    passes = Sequential([CombineParallelDense()])
    for level, count in ((3, 3), (4, 0)):
        with PassContext(opt_level=level):
            assert count_ops(passes(before)["main"])["nn.dense"] == count


def test_named_extents_are_kept():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n, 4), dtype="float32")
    weights = [relay.const(np.full((3, 4), i, "float32")) for i in range(3)]
    body = relay.Tuple([relay.nn.dense(x, w) for w in weights])
    for combine, name in ((BATCH, "nn.batch_matmul"), (WIDE, "nn.dense")):
        before = InferType()(relay.IRModule.from_expr(body))
        after = combine(before)
        assert count_ops(after["main"])[name] == 1
        data = np.ones((5, 4), "float32")
        results = [relay.create_executor("debug", m).evaluate()(data) for m in (before, after)]
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy())


def test_programs_may_be_deep():
    x = relay.var("x", shape=(2, 4))
    branches = []
    for i in range(3):
        e = relay.nn.dense(x, relay.const(np.full((4, 4), i, "float32")))
        for _ in range(1_000):
            e = relay.nn.relu(e)
        branches.append(e)
    after = WIDE(relay.IRModule.from_expr(relay.Function([x], relay.Tuple(branches))))
    assert count_ops(after["main"])["nn.relu"] == 1_000
