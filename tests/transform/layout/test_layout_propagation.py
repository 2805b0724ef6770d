"""Layouts spread through lets, tuples, branches and functions without changing what they mean."""

import numpy as np
import pytest

import relay
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call
from relay.transform import ConvertLayout, InferType
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
NHWC = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})
BLOCKED = ConvertLayout({"nn.conv2d": ["NCHW4c", "default"]})
PARAMS = "%x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(4, 4, 3, 3), float32]"
CONV = "nn.conv2d({}, %w, padding=[1, 1, 1, 1])"
LAID_X = '%20 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");'
LAID_W = '%21 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");'
LAID_CONV = 'nn.conv2d({}, %21, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="HWIO")'
BACK = 'layout_transform({}, src_layout="NHWC", dst_layout="NCHW")'


def parsed(text):
    return InferType()(relay.parse(HEADER + text))


def rewritten(body, extra="", layout=NHWC):
    return layout(parsed(f"def @main({PARAMS}{extra}) {{ {body} }}"))


def assert_rewrites(before, after, extra=""):
    assert_structural_equal(
        rewritten(before, extra), parsed(f"def @main({PARAMS}{extra}) {{{after}}}")
    )


def assert_same_meaning(body, extra="", more=()):
    before = parsed(f"def @main({PARAMS}{extra}) {{ {body} }}")
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(s).astype("float32") for s in ((1, 4, 5, 5), (4, 4, 3, 3)))
    for layout in (NHWC, BLOCKED):
        after = layout(before)
        found, expected = (
            relay.create_executor("debug", mod=m).evaluate()(x, w, *more) for m in (before, after)
        )
        for one, other in zip(arrays(found), arrays(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def arrays(value):
    fields = getattr(value, "fields", None)
    return [value.numpy()] if fields is None else [a for field in fields for a in arrays(field)]


def transforms(module):
    names = [
        e.attrs.src_layout + "->" + e.attrs.dst_layout
        for f in module.functions.values()
        for e in relay.tree.postorder(f)
        if isinstance(e, Call) and getattr(e.op, "name", "") == "layout_transform"
    ]
    return sorted(names)


def test_between_convolutions_nothing_is_laid_back():
    assert_rewrites(
        f"%0 = {CONV.format('%x')}; {CONV.format('nn.relu(%0)')}",
        f"{LAID_X} {LAID_W} %0 = {LAID_CONV.format('%20')}; "
        f"%1 = {LAID_CONV.format('nn.relu(%0)')}; {BACK.format('%1')}",
    )


def test_a_variable_keeps_the_layout_of_its_value():
    assert_rewrites(
        f"let %y = {CONV.format('%x')}; let %z = nn.relu(%y); {CONV.format('%z')}",
        f'{LAID_W} let %y = nn.conv2d(layout_transform(%x, src_layout="NCHW", '
        'dst_layout="NHWC"), %21, padding=[1, 1, 1, 1], data_layout="NHWC", '
        f'kernel_layout="HWIO"); let %z = nn.relu(%y); {BACK.format(LAID_CONV.format("%z"))}',
    )


def test_who_needs_a_value_as_it_was_shares_one_transform():
    found = rewritten(
        f"%0 = {CONV.format('%x')}; (nn.batch_flatten(%0), reshape(%0, newshape=[-1]))"
    )
    assert transforms(found) == ["NCHW->NHWC", "NHWC->NCHW", "OIHW->HWIO"]


def test_a_transpose_is_laid_back_apart_from_what_it_transposes():
    body = f"""
        %0 = {CONV.format("%x")};
        (reshape(%0, newshape=[-1]), reshape(transpose(%0, axes=[0, 3, 1, 2]), newshape=[-1]))
    """
    laid_back = ["NHWC->NCHW", "NHWC->NWCH"]
    assert transforms(rewritten(body)) == ["NCHW->NHWC", *laid_back, "OIHW->HWIO"]
    assert_same_meaning(body)


def test_tuples_keep_the_layouts_of_their_fields():
    body = f"""
        let %t = ({CONV.format("%x")}, %x);
        let %u = split(%t.0, indices_or_sections=2, axis=1);
        nn.relu(concatenate((%u.1, %u.0, %t.1), axis=1))
    """
    # %x goes into the convolution and, as a field, into the concatenation
    assert transforms(rewritten(body)) == ["NCHW->NHWC"] * 2 + ["NHWC->NCHW", "OIHW->HWIO"]
    assert_same_meaning(body)


def test_tuples_that_are_results_are_as_they_were():
    body = f"let %t = split({CONV.format('%x')}, indices_or_sections=2, axis=1); %t"
    assert (
        rewritten(body)["main"].ret_type
        == parsed(f"def @main({PARAMS}) {{{body}}}")["main"].ret_type
    )
    assert_same_meaning(body)


def test_branches_give_results_as_they_were():
    body = f"""
        let %y = {CONV.format("%x")};
        if (%c) {{ {CONV.format("%y")} }} else {{ nn.relu(%y) }}
    """
    for c in (True, False):
        assert_same_meaning(body, ", %c: bool", (np.array(c),))


def test_functions_take_and_give_tensors_as_they_were():
    body = f"""
        let %f = fn (%z: Tensor[(1, 4, 5, 5), float32]) {{ nn.relu({CONV.format("%z")}) }};
        %f(%f({CONV.format("%x")}))
    """
    assert_same_meaning(body)


def test_what_a_function_uses_is_not_laid_back_in_every_call():
    body = f"""
        let %y = {CONV.format("%x")};
        let %f = fn (%z: Tensor[(1, 4, 5, 5), float32]) {{ add(%y, %z) }};
        %f(%f(nn.relu(%y)))
    """
    found = rewritten(body)
    (function,) = [
        e for e in relay.tree.postorder(found["main"].body) if isinstance(e, relay.Function)
    ]
    assert not any(isinstance(e, Call) and e.attrs for e in relay.tree.postorder(function))
    assert_same_meaning(body)


def test_a_shared_computation_that_a_function_uses_is_laid_back_outside():
    body = f"""
        %0 = {CONV.format("%x")};
        let %f = fn (%z: Tensor[(1, 4, 5, 5), float32]) {{ add(%0, %z) }};
        %f(%f(nn.relu(%0)))
    """
    found = rewritten(body)
    assert transforms(found) == ["NCHW->NHWC", "NHWC->NCHW", "OIHW->HWIO"]
    assert_same_meaning(body)


def test_references_hold_what_they_held_in_the_same_order():
    body = f"""
        let %r = ref({CONV.format("%x")});
        let %a = ref_read(%r);
        let %u = ref_write(%r, nn.relu(%a));
        {CONV.format("add(%a, ref_read(%r))")}
    """
    assert_same_meaning(body)


def test_data_holds_tensors_as_they_were():
    text = f"""
        type Box {{ Box(Tensor[(1, 4, 5, 5), float32]) }}
        def @main({PARAMS}) {{
          let %b = Box({CONV.format("%x")});
          match (%b) {{ Box(%y) => {CONV.format("%y")} }}
        }}
    """
    before = parsed(text)
    x, w = (np.ones(s, "float32") for s in ((1, 4, 5, 5), (4, 4, 3, 3)))
    found, expected = (
        relay.create_executor("debug", mod=m).evaluate()(x, w).numpy()
        for m in (NHWC(before), before)
    )
    np.testing.assert_allclose(found, expected)


def test_functions_of_somebody_else_stay_as_they_are():
    body = f"""
        let %y = {CONV.format("%x")};
        let %f = fn (%z: Tensor[(1, 4, 5, 5), float32], Primitive=1) {{ {CONV.format("%z")} }};
        %f(%y)
    """
    found = rewritten(body)
    assert str(found).count('data_layout="NHWC"') == 1
    assert_same_meaning(body)


def test_an_annotation_that_says_less_than_the_value_is_kept():
    body = f"let %y: Tensor[(1, ?, 5, 5), float32] = {CONV.format('%x')}; nn.relu(%y)"
    assert "let %y: Tensor[(1, ?, 5, 5), float32]" in str(rewritten(body))
    assert_same_meaning(body)


def test_sizes_may_be_open():
    text = """
        def @main(%x: Tensor[(?, 4, ?, 5), float32], %w: Tensor[(8, 4, 3, 3), float32],
                  %b: Tensor[(8, 1, 1), float32]) {
          %0 = nn.conv2d(%x, %w);
          mean(nn.relu(add(%0, %b)), axis=[2, 3])
        }
    """
    before = parsed(text)
    x, w, b = (
        np.random.rand(*s).astype("float32") for s in ((2, 4, 6, 5), (8, 4, 3, 3), (8, 1, 1))
    )
    expected = relay.create_executor("debug", mod=before).evaluate()(x, w, b).numpy()
    for layout in (NHWC, BLOCKED):
        after = layout(before)
        assert "mean(" in str(after) and transforms(after) != []
        found = relay.create_executor("debug", mod=after).evaluate()(x, w, b).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_open_sizes_do_not_broadcast_by_guess():
    text = """
        def @main(%x: Tensor[(1, 4, ?, 5), float32], %w: Tensor[(8, 4, 1, 1), float32],
                  %b: Tensor[(1, 8, ?, 5), float32]) { add(nn.conv2d(%x, %w), %b) }
    """
    before = parsed(text)
    x, w, b = (
        np.random.rand(*s).astype("float32") for s in ((1, 4, 6, 5), (8, 4, 1, 1), (1, 8, 1, 5))
    )
    expected = relay.create_executor("debug", mod=before).evaluate()(x, w, b).numpy()
    after = BLOCKED(before)
    found = relay.create_executor("debug", mod=after).evaluate()(x, w, b).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("bind", [False, True])
def test_long_programs_take_no_stack(bind):
    x, w = relay.var("x", shape=(1, 4, 5, 5)), relay.var("w", shape=(4, 4, 1, 1))
    value = relay.nn.conv2d(x, w)
    count = deep(10_000)
    if bind:
        variables = [relay.var(f"v{i}") for i in range(count)]
        values = [value, *map(relay.nn.relu, variables)]
        body = values[-1]
        for variable, bound in zip(reversed(variables), reversed(values[:-1]), strict=True):
            body = relay.Let(variable, bound, body)
    else:
        body = value
        for _ in range(count):
            body = relay.nn.relu(body)
    module = InferType()(relay.IRModule.from_expr(relay.Function([x, w], body)))
    assert transforms(NHWC(module)) == ["NCHW->NHWC", "NHWC->NCHW", "OIHW->HWIO"]
