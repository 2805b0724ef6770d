"""Attention becomes one primitive function, in all the forms in which it is written."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.transform import DefuseOps, FuseOps, RecognizeAttention, ToANormalForm
from tests.target.llvm.kernels import LEVELS_HERE, names

HEADER = '#[version = "0.0.5"]\n'
PARAMS = {
    "q": "Tensor[(6, 5, 8), float32]",
    "k": "Tensor[(6, 7, 8), float32]",
    "v": "Tensor[(6, 7, 9), float32]",
    "m": "Tensor[(5, 7), float32]",
    "c": "Tensor[(6, 5, 7), bool]",
    "heads": "Tensor[(2, 1, 5, 7), float32]",
}
SCORES = "nn.batch_matmul(%q, %k, transpose_b=True)"


def params(**changed):
    return ", ".join(f"%{name}: {ty}" for name, ty in (PARAMS | changed).items())


def parse(body, **changed):
    return relay.parse(f"{HEADER}def @main({params(**changed)}) {{ {body} }}")


def attentions(mod):
    """The operators of every primitive function that is marked as attention."""
    return [
        [
            call.op.name
            for call in tree.postorder(e)
            if isinstance(call, relay.Call) and isinstance(call.op, relay.op.OpDef)
        ]
        for function in mod.functions.values()
        for e in tree.postorder(function)
        if isinstance(e, relay.Function) and e.attrs.get("Pattern") == "attention"
    ]


def arguments(mod, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for param in mod["main"].params:
        ty = param.checked_type
        values = rng.normal(size=ty.shape)
        found.append(values > -0.5 if ty.dtype == "bool" else values.astype(ty.dtype))
    return found


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args).numpy()


# --- what it makes -------------------------------------------------------------------------------


def test_the_pieces_are_one_function_called_in_their_place():
    mod = parse(f"nn.batch_matmul(nn.softmax(add(multiply({SCORES}, 0.125f), %m)), %v)")
    assert_structural_equal(
        RecognizeAttention()(mod),
        parse(
            f"""
            fn (%p0: {PARAMS["q"]}, %p1: {PARAMS["k"]}, %p2: {PARAMS["m"]}, %p3: {PARAMS["v"]},
                Primitive=1, Pattern="attention") -> Tensor[(6, 5, 9), float32] {{
              %0 = nn.batch_matmul(%p0, %p1, transpose_b=True);
              nn.batch_matmul(nn.softmax(add(multiply(%0, 0.125f), %p2)), %p3)
            }}(%q, %k, %m, %v)
            """
        ),
    )


FORMS = {
    "plain": f"nn.batch_matmul(nn.softmax({SCORES}), %v)",
    "divided": f"nn.batch_matmul(nn.softmax(divide({SCORES}, 3f)), %v)",
    "scaled by what comes second": f"nn.batch_matmul(nn.softmax(multiply(0.5f, {SCORES})), %v)",
    "masked by addition": f"nn.batch_matmul(nn.softmax(add(%m, {SCORES})), %v)",
    "masked by choice": f"nn.batch_matmul(nn.softmax(where(%c, {SCORES}, -1e9f)), %v)",
    "masked by the other choice": f"nn.batch_matmul(nn.softmax(where(%c, -1e9f, {SCORES})), %v)",
    "masked, then scaled, then masked": f"""
        nn.batch_matmul(nn.softmax(where(%c, multiply(add({SCORES}, %m), 0.5f), -1e9f)), %v)""",
    "a mask as large as the scores, computed": f"""
        nn.batch_matmul(nn.softmax(add(multiply(cast(%c, dtype="float32"), -9f), {SCORES})), %v)""",
    "with heads apart": f"""
        %0 = add(reshape({SCORES}, newshape=[2, 3, 5, 7]), %heads);
        nn.batch_matmul(reshape(nn.softmax(%0), newshape=[-1, 5, 7]), %v)""",
    "softmax in more digits": f"""
        %0 = nn.softmax(cast({SCORES}, dtype="float64"));
        nn.batch_matmul(cast(%0, dtype="float32"), %v)""",
    "softmax by hand": f"""
        %0 = multiply({SCORES}, 0.5f);
        %1 = exp(subtract(%0, max(%0, axis=[-1], keepdims=True)));
        nn.batch_matmul(divide(%1, sum(%1, axis=[2], keepdims=True)), %v)""",
    "softmax by hand without a maximum": f"""
        %0 = exp({SCORES});
        nn.batch_matmul(divide(%0, sum(%0, axis=[2], keepdims=True)), %v)""",
}
TRANSPOSED = {
    "keys as columns": (
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k)), %v)",
        {"k": "Tensor[(6, 8, 7), float32]"},
    ),
    "queries as columns": (
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_a=True)), %v)",
        {"q": "Tensor[(6, 8, 5), float32]", "k": "Tensor[(6, 8, 7), float32]"},
    ),
    "values as columns": (
        f"nn.batch_matmul(nn.softmax({SCORES}), %v, transpose_b=True)",
        {"v": "Tensor[(6, 9, 7), float32]"},
    ),
    "one key for all heads": (
        f"nn.batch_matmul(nn.softmax({SCORES}), %v)",
        {"k": "Tensor[(1, 7, 8), float32]"},
    ),
}
ALL = {**{name: (body, {}) for name, body in FORMS.items()}, **TRANSPOSED}


@pytest.mark.parametrize("form", ALL)
def test_all_forms_are_recognized_and_stay_a_kernel_of_their_own(form):
    body, changed = ALL[form]
    mod = parse(body, **changed)
    after = RecognizeAttention()(mod)
    check_well_formed(after)
    (operators,) = attentions(after)
    assert operators.count("nn.batch_matmul") == 2
    assert RecognizeAttention()(after)["main"] is after["main"]
    fused = FuseOps()(after)
    assert attentions(fused) == [operators]
    args = arguments(mod)
    expected = evaluate(mod, *args)
    np.testing.assert_array_equal(evaluate(fused, *args), expected)


def test_normal_forms_are_seen_through():
    for body, changed in ALL.values():
        bound = ToANormalForm()(parse(body, **changed))
        assert len(attentions(RecognizeAttention()(bound))) == 1


def test_the_operators_can_be_put_back():
    mod = parse(FORMS["masked by addition"])
    assert_structural_equal(DefuseOps()(RecognizeAttention()(mod)), mod)


def test_attention_over_attention_is_two():
    mod = parse(
        f"%0 = nn.batch_matmul(nn.softmax({SCORES}), %k); "
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%0, %k, transpose_b=True)), %v)"
    )
    assert (
        attentions(RecognizeAttention()(mod))
        == [["nn.batch_matmul", "nn.softmax", "nn.batch_matmul"]] * 2
    )


def test_it_is_found_in_branches_clauses_and_functions():
    attention = f"nn.batch_matmul(nn.softmax({SCORES}), %v)"
    for body in (
        f'if (True) {{ {attention} }} else {{ zeros(shape=[6, 5, 9], dtype="float32") }}',
        f"match ((%q, %k)) {{ (%a, _) => {attention} }}",
        f"let %f = fn () {{ {attention} }}; %f()",
    ):
        assert len(attentions(RecognizeAttention()(parse(body)))) == 1


# --- what it leaves alone ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        # the scores, and what softmax makes of them, are needed outside
        f"%0 = {SCORES}; (%0, nn.batch_matmul(nn.softmax(%0), %v))",
        f"%0 = nn.softmax({SCORES}); (nn.batch_matmul(%0, %v), %0)",
        # no softmax, or not over the keys
        f"nn.batch_matmul(nn.relu({SCORES}), %v)",
        f"nn.batch_matmul(nn.softmax({SCORES}, axis=1), %v)",
        f"nn.batch_matmul(nn.log_softmax({SCORES}), %v)",
        # softmax of something else
        "nn.batch_matmul(nn.softmax(multiply(%heads, 2f)), %v)".replace("%heads", "%x"),
        # a sum of other things than what is divided
        f"%0 = exp({SCORES}); "
        "nn.batch_matmul(divide(%0, sum(exp(%0), axis=[2], keepdims=True)), %v)",
        # the axes of queries and keys are mixed
        f"nn.batch_matmul(nn.softmax(reshape({SCORES}, newshape=[6, 7, 5])), %u)",
        # the scores are copied for every mask
        f"nn.batch_matmul(reshape(nn.softmax(add({SCORES}, %n)), newshape=[6, 10, 7]), %v)",
    ],
)
def test_what_is_no_attention_stays_as_it_is(body):
    more = {
        "x": "Tensor[(6, 5, 7), float32]",
        "u": "Tensor[(6, 5, 9), float32]",
        "n": "Tensor[(2, 1, 1, 1), float32]",
    }
    mod = parse(body, **more)
    assert RecognizeAttention()(mod)["main"] is mod["main"]


def test_what_is_needed_in_another_block_is_not_taken():
    mod = parse(
        f"let %s = {SCORES}; let %f = fn () {{ %s }}; (%f, nn.batch_matmul(nn.softmax(%s), %v))"
    )
    assert RecognizeAttention()(mod)["main"] is mod["main"]


def test_functions_for_other_compilers_are_not_entered():
    body = f'let %f = fn (Compiler="x") {{ nn.batch_matmul(nn.softmax({SCORES}), %v) }}; %f()'
    mod = parse(body)
    assert RecognizeAttention()(mod)["main"] is mod["main"]


# --- compiled ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", LEVELS_HERE, ids=names(LEVELS_HERE))
def test_compiled_it_is_what_torch_computes(target):
    mod = RecognizeAttention()(
        parse(f"nn.batch_matmul(nn.softmax(add(divide({SCORES}, 2.828427f), %m)), %v)")
    )
    exe = relay.compile(mod, target=target)
    args = arguments(mod)
    q, k, v, m = map(torch.from_numpy, args[:4])
    expected = F.scaled_dot_product_attention(q, k, v, m).numpy()
    np.testing.assert_allclose(exe(*args), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ALL)
def test_compiled_every_form_means_the_same(form):
    body, changed = ALL[form]
    mod = parse(body, **changed)
    args = arguments(mod)
    exe = relay.compile(RecognizeAttention()(mod))
    np.testing.assert_allclose(exe(*args), evaluate(mod, *args), rtol=1e-5, atol=1e-6)


def test_compiled_it_takes_all_sizes():
    types = {
        "q": "Tensor[(h, n, 8), float32]",
        "k": "Tensor[(h, m, 8), float32]",
        "v": "Tensor[(h, m, 9), float32]",
    }
    given = ", ".join(f"%{name}: {ty}" for name, ty in types.items())
    mod = relay.parse(
        f"{HEADER}def @main[h: Shape, n: Shape, m: Shape]({given}) {{"
        f" nn.batch_matmul(nn.softmax(multiply({SCORES}, 0.5f)), %v) }}"
    )
    after = RecognizeAttention()(mod)
    assert len(attentions(after)) == 1
    exe = relay.compile(after)
    rng = np.random.default_rng(1)
    for h, n, m in ((1, 1, 1), (2, 17, 33), (3, 5, 64)):
        shapes = ((h, n, 8), (h, m, 8), (h, m, 9))
        args = [rng.normal(size=shape).astype("float32") for shape in shapes]
        q, k, v = map(torch.from_numpy, args)
        expected = F.scaled_dot_product_attention(q, k, v, scale=0.5).numpy()
        np.testing.assert_allclose(exe(*args), expected, rtol=1e-5, atol=1e-6)
