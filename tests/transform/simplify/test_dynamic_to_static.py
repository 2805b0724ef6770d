"""Dynamic operators become static where what decides about shapes is known."""

import sys

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import find_op, op_names
from relay.op.dyn.form import STATIC_FORM
from relay.op.opdef import OpDef
from relay.testing import assert_generated_ok, assert_same_value, count_ops
from relay.testing.strategies import programs
from relay.transform import (
    DeadCodeElimination,
    DynamicToStatic,
    InferType,
    PassContext,
    Sequential,
    ToANormalForm,
)

HEADER = '#[version = "0.0.5"]\n'
X = "%x: Tensor[(2, 3), float32]"


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def static(mod):
    after = DynamicToStatic()(mod)
    assert_generated_ok(after)
    again = DynamicToStatic()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(static(parse(before)), parse(after))


def assert_stays(text):
    before = parse(text)
    after = static(before)
    assert all(after[name] is function for name, function in before.functions.items())


def dynamic_ops(mod):
    counts = [count_ops(function) for function in mod.functions.values()]
    return sum(n for count in counts for name, n in count.items() if name.startswith("dyn."))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


# --- what becomes static -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in op_names() if n.startswith("dyn.")])
def test_every_dynamic_operator_has_a_static_form(name):
    op = find_op(name)
    form = op.get_attr(STATIC_FORM)
    for sample in op.samples:
        values = sample.values()
        args = [
            relay.const(v, v.dtype.name)
            if i in form.values
            else relay.var("x", shape=v.shape, dtype=v.dtype.name)
            for i, v in enumerate(values)
        ]
        call = op(*args, **sample.attrs)
        params = [a for a in args if isinstance(a, relay.Var)]
        module = InferType()(relay.IRModule.from_expr(relay.Function(params, call)))
        after = static(module)
        assert dynamic_ops(after) == 0
        inputs = [v for i, v in enumerate(values) if i not in form.values]
        assert_same_value(evaluate(after, *inputs), evaluate(module, *inputs))


def test_constants_decide():
    assert_rewrites(
        f'def @main({X}) {{ dyn.tile(%x, cast(ones(shape=[2], dtype="int32"), dtype="int64")) }}',
        f"def @main({X}) {{ tile(%x, reps=[1, 1]) }}",
    )


def test_known_shapes_decide():
    assert_rewrites(
        f"def @main({X}, %y: Tensor[(6), float32]) {{ dyn.reshape(%y, shape_of(%x)) }}",
        f"def @main({X}, %y: Tensor[(6), float32]) {{ reshape(%y, newshape=[2, 3]) }}",
    )


def test_a_shape_that_is_found_decides_about_others():
    assert_rewrites(
        f"""
        def @main({X}) {{
          %0 = dyn.tile(%x, shape_of(%x));
          %1 = dyn.tile(%0, add(shape_of(%0), 1));
          dyn.reshape(%1, multiply(shape_of(%1), 1))
        }}
        """,
        f"""
        def @main({X}) {{
          reshape(tile(tile(%x, reps=[2, 3]), reps=[5, 10]), newshape=[20, 90])
        }}
        """,
    )


def test_names_and_tuples_are_followed():
    after = static(
        parse(
            f"""
            def @main({X}) {{
              let %s = shape_of(%x);
              let %a = dyn.tile(%x, %s);
              let %t = (%a, %x);
              let %b = %t.0;
              let %p = (shape_of(%b), %s);
              let %c = concatenate(%p);
              dyn.reshape(%b, multiply(strided_slice(%c, begin=[0], end=[2]), 1))
            }}
            """
        )
    )
    expected = f"""
    def @main({X}) {{
      let %a = tile(%x, reps=[2, 3]);
      let %t = (%a, %x);
      let %b = %t.0;
      reshape(%b, newshape=[4, 9])
    }}
    """
    assert_structural_equal(DeadCodeElimination()(after), parse(expected))


def test_what_folding_finds_is_followed():
    assert_rewrites(
        f"""
        def @main({X}, %s: Tensor[(2), int32]) {{
          let %a = dyn.tile(%x, if (less(1, 2)) {{ shape_of(%x) }} else {{ %s }});
          let %b = dyn.tile(%a, if (less(1, 2)) {{ shape_of(%a) }} else {{ %s }});
          %b
        }}
        """,
        f"""
        def @main({X}, %s: Tensor[(2), int32]) {{
          let %a = tile(%x, reps=[2, 3]);
          let %b = tile(%a, reps=[4, 9]);
          %b
        }}
        """,
    )


def test_an_a_normal_form_is_followed_just_as_well():
    text = f"""
    def @main({X}) {{
      %0 = dyn.tile(%x, shape_of(%x));
      %1 = dyn.tile(%0, shape_of(%0));
      shape_of(%1)
    }}
    """
    after = static(ToANormalForm()(parse(text)))
    assert dynamic_ops(after) == 0
    assert evaluate(after, np.ones((2, 3), "float32")).numpy().tolist() == [16, 81]


def test_branches_that_agree_tell_the_type():
    assert_rewrites(
        f"""
        def @main({X}, %c: bool, %y: Tensor[(36), float32]) {{
          %0 = if (%c) {{ dyn.tile(%x, shape_of(%x)) }} else {{
            dyn.reshape(%y, multiply(shape_of(%x), shape_of(%x)))
          }};
          dyn.reshape(%0, shape_of(%0))
        }}
        """,
        f"""
        def @main({X}, %c: bool, %y: Tensor[(36), float32]) {{
          %0 = if (%c) {{ tile(%x, reps=[2, 3]) }} else {{ reshape(%y, newshape=[4, 9]) }};
          reshape(%0, newshape=[4, 9])
        }}
        """,
    )


def test_functions_that_are_known_tell_the_types_of_their_results():
    assert_rewrites(
        f"""
        def @main({X}) {{ %0 = @twice(%x); dyn.reshape(%0, shape_of(%0)) }}
        def @twice({X}) {{ dyn.tile(%x, shape_of(%x)) }}
        """,
        f"""
        def @main({X}) {{ reshape(@twice(%x), newshape=[4, 9]) }}
        def @twice({X}) {{ tile(%x, reps=[2, 3]) }}
        """,
    )


def test_parts_of_shapes_that_are_known_are_enough():
    assert_rewrites(
        "def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(4, 5), float32])"
        " { dyn.reshape(%x, shape_of(%y)) }",
        "def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(4, 5), float32])"
        " { reshape(%x, newshape=[4, 5]) }",
    )


# --- where types stay ----------------------------------------------------------------------------

KNOWN = "{ let %known: Tensor[(?, ?), float32] = %a; %known }"


@pytest.mark.parametrize(
    "use",
    [
        "let %r = ref(USE); let %u = ref_write(%r, %x); ref_read(%r)",
        "let %r = ref(%y); let %u = ref_write(%r, USE); ref_read(%r)",
        "@f(USE)",
        "%g(USE)",
        "Some(USE)",
        "if (%c) { USE } else { %y }",
        "match (%o) { Some(%z) => %z, None => USE }",
    ],
)
def test_what_others_rely_on_stays_as_it_was(use):
    text = f"""
    type Option[A] {{ Some(A), None }}
    def @f(%y: Tensor[(?, ?), float32]) {{ %y }}
    def @main({X}, %c: bool, %y: Tensor[(?, ?), float32], %o: Option[Tensor[(?, ?), float32]],
        %g: fn (Tensor[(?, ?), float32]) -> float32) {{
      let %a = TILE;
      {use}
    }}
    """
    assert_rewrites(
        text.replace("TILE", "dyn.tile(%x, shape_of(%x))").replace("USE", "%a"),
        text.replace("TILE", "tile(%x, reps=[2, 3])").replace("USE", KNOWN),
    )


def test_a_function_keeps_its_type_where_it_is_a_value():
    assert_rewrites(
        f"""
        def @f({X}) {{ dyn.tile(%x, shape_of(%x)) }}
        def @main({X}) {{ let %r = ref(@f); (@f(%x), fn () {{ dyn.tile(%x, shape_of(%x)) }}, %r) }}
        """,
        f"""
        def @f({X}) -> Tensor[(?, ?), float32] {{ tile(%x, reps=[2, 3]) }}
        def @main({X}) {{
          let %r = ref(@f);
          (@f(%x), fn () -> Tensor[(?, ?), float32] {{ tile(%x, reps=[2, 3]) }}, %r)
        }}
        """,
    )


def test_a_binding_that_declares_its_type_keeps_it():
    assert_rewrites(
        f"""
        def @main({X}) {{
          let %a: Tensor[(?, 9), float32] = dyn.tile(%x, shape_of(%x));
          (%a, shape_of(%a))
        }}
        """,
        f"""
        def @main({X}) {{
          let %a: Tensor[(?, 9), float32] = tile(%x, reps=[2, 3]);
          (%a, shape_of(%a))
        }}
        """,
    )


def test_a_cell_may_hold_other_shapes_still():
    module = parse(
        f"""
        def @main({X}) {{
          let %r = ref(dyn.tile(%x, shape_of(%x)));
          let %u = ref_write(%r, dyn.tile(ref_read(%r), shape_of(%x)));
          ref_read(%r)
        }}
        """
    )
    after = static(module)
    assert dynamic_ops(after) == 0
    x = np.ones((2, 3), "float32")
    assert_same_value(evaluate(after, x), evaluate(module, x))


# --- what stays dynamic --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"def @main({X}) {{ tile(%x, reps=[2, 3]) }}",
        f"def @main({X}) {{ add(%x, multiply(2f, 3f)) }}",
        f"def @main({X}, %s: Tensor[(2), int64]) {{ dyn.tile(%x, add(%s, %s)) }}",
        "def @main(%x: Tensor[(?), float32]) { dyn.tile(%x, shape_of(%x)) }",
        f'def @main({X}, Compiler="other") {{ dyn.tile(%x, shape_of(%x)) }}',
    ],
)
def test_what_is_not_known_stays(text):
    assert_stays(text)


@pytest.mark.parametrize("values", [[5, 5], [-2, 1], [-7, 1]])
def test_a_call_that_would_fail_stays(values):
    x, c = relay.var("x", shape=(2, 3)), relay.var("c", "bool")
    wrong = relay.op.dyn.reshape(x, relay.const(np.array(values), "int64"))
    right = relay.op.dyn.reshape(x, relay.const(np.array([3, 2]), "int64"))
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x, c], relay.If(c, wrong, right))))
    after = static(mod)
    assert dynamic_ops(after) == 1
    data = np.ones((2, 3), "float32")
    assert_same_value(evaluate(after, data, False), evaluate(mod, data, False))
    with pytest.raises(relay.RelayError):
        evaluate(after, data, True)


def test_the_shape_of_something_with_effects_is_not_taken_without_them():
    module = parse(
        f"""
        def @main({X}) {{
          let %r = ref(1);
          %0 = {{ let %u = ref_write(%r, 2); dyn.tile(%x, shape_of(%x)) }};
          let %s = shape_of(%0);
          (dyn.reshape(%x, multiply(shape_of(%x), 1)), %s, ref_read(%r))
        }}
        """
    )
    x = np.ones((2, 3), "float32")
    assert_same_value(evaluate(static(module), x), evaluate(module, x))


# --- every program -------------------------------------------------------------------------------


def dynamised(module):
    """The module with dynamic operators wherever there are some."""

    def visit(_, after):
        if not isinstance(after, relay.Call) or not isinstance(after.op, OpDef):
            return after
        twin = find_op(f"dyn.{after.op.name}")
        if twin is None:
            return after
        form = twin.get_attr(STATIC_FORM)
        attrs, args = dict(after.attrs.items()), list(after.args)
        for index, name in sorted(form.values.items()):
            if (value := attrs.pop(name)) is None:
                return after
            args.insert(index, relay.const(np.array(value), "int64"))
        return twin(*args, **attrs)

    result = module.copy()
    for name, function in module.functions.items():
        result[name] = tree.transform(function, visit)
    return InferType()(result)


@given(programs(functions=2))
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    try:
        before = dynamised(InferType()(module))
        expected = evaluate(before, *inputs)
    except relay.RelayError:
        return  # a static shape was needed
    after = static(before)
    assert dynamic_ops(after) == 0
    assert_same_value(evaluate(after, *inputs), expected)


def test_long_chains_of_shapes_take_linear_time():
    limit = sys.getrecursionlimit()
    x = value = relay.var("x", shape=(2, 3))
    for _ in range(500):
        value = relay.op.dyn.reshape(relay.exp(value), relay.shape_of(value))
    after = DynamicToStatic()(relay.IRModule.from_expr(relay.Function([x], value)))
    assert count_ops(after["main"]) == {"exp": 500, "reshape": 500}
    assert sys.getrecursionlimit() == limit


def test_programs_may_be_deep():
    x = value = relay.var("x", shape=(2, 3))
    for _ in range(5_000):
        value = relay.exp(value)
    value = relay.op.dyn.reshape(value, relay.shape_of(value))
    after = DynamicToStatic()(relay.IRModule.from_expr(relay.Function([x], value)))
    assert dynamic_ops(after) == 0


def test_it_belongs_to_level_two():
    before = parse(f"def @main({X}) {{ dyn.tile(%x, shape_of(%x)) }}")
    passes = Sequential([DynamicToStatic()])
    with PassContext(opt_level=1):
        assert passes(before)["main"] is before["main"]
    with PassContext(opt_level=2):
        assert dynamic_ops(passes(before)) == 0
