"""What another compiler takes over becomes functions of the module."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.dataflow_pattern import is_op, wildcard
from relay.errors import PassError, TargetError
from relay.ir.compare import assert_structural_equal
from relay.op.annotation import compiler_begin, compiler_end
from relay.testing import assert_same_value
from relay.testing.strategies import programs
from relay.transform import (
    InferType,
    Inline,
    InlineCompilerFunctionsBoundTo,
    MergeComposite,
    PartitionGraph,
)
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
X = "%x: Tensor[(4), float32]"


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def begin(e, compiler="c"):
    return compiler_begin(e, compiler=compiler)


def end(e, compiler="c"):
    return compiler_end(e, compiler=compiler)


def module_of(body, *params):
    return InferType()(relay.IRModule.from_expr(relay.Function(params, body)))


def partitioned(mod, **options):
    after = PartitionGraph(**options)(mod)
    check_well_formed(after)
    again = PartitionGraph(**options)(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def attrs(number=0, owner="main", mod_name="default", compiler="c"):
    name = f"tvmgen_{mod_name}_{compiler}_{owner}_{number}"
    return f'Primitive=1, Inline=1, Compiler="{compiler}", global_symbol="{name}"'


def foreign(mod):
    return [f for f in mod.functions.values() if f.attrs.get("Compiler")]


def has_annotations(mod):
    return any(
        isinstance(node, relay.Op) and node.name.startswith("annotation.compiler")
        for function in mod.functions.values()
        for node in tree.postorder(function)
    )


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def var(name="x"):
    return relay.var(name, shape=(4,))


def test_a_region_becomes_a_function():
    x = var()
    after = partitioned(module_of(relay.exp(end(relay.nn.relu(begin(x)))), x))
    assert_structural_equal(
        after,
        parse(
            f"""
            def @main({X}) {{ exp(@tvmgen_default_c_main_0(%x)) }}
            def @tvmgen_default_c_main_0({X}, {attrs()}) -> Tensor[(4), float32] {{ nn.relu(%x) }}
            """
        ),
    )


def test_names_tell_the_module_and_are_new():
    x = var()
    mod = module_of(end(relay.exp(end(relay.exp(begin(x, "c d")), "c d"))), x)
    mod["tvmgen_net_c_main_1"] = relay.Function([], relay.const(1))
    after = partitioned(mod, mod_name="net")
    names = {name.name_hint for name in after.functions}
    assert names == {"main", "tvmgen_net_c_main_1", "tvmgen_net_c_d_main_0", "tvmgen_net_c_main_2"}


def test_several_results_are_a_tuple():
    x = var()
    inner = relay.exp(begin(x))
    body = relay.add(end(inner), end(relay.sqrt(inner)))
    after = partitioned(module_of(body, x))
    assert_structural_equal(
        after,
        parse(
            f"""
            def @main({X}) {{
              %0 = @tvmgen_default_c_main_0(%x);
              add(%0.0, %0.1)
            }}
            def @tvmgen_default_c_main_0({X}, {attrs()})
                -> (Tensor[(4), float32], Tensor[(4), float32]) {{
              %0 = exp(%x);
              (%0, sqrt(%0))
            }}
            """
        ),
    )


def test_a_tuple_leaves_field_by_field():
    x = var()
    inner = relay.exp(begin(x))
    tuple_end = end(relay.Tuple([inner, relay.Tuple([relay.sqrt(inner), inner])]))
    mod = module_of(tuple_end, x)
    after = partitioned(mod)
    (function,) = foreign(after)
    assert function.ret_type == relay.TupleType([relay.TensorType((4,))] * 2)
    value = np.array([1, 2, 3, 4], "float32")
    assert_same_value(evaluate(after, value), evaluate(mod, value))


def test_what_is_used_outside_without_an_end_leaves_too():
    x = var()
    inner = relay.exp(begin(x))
    mod = module_of(relay.Tuple([end(relay.sqrt(inner)), relay.negative(inner)]), x)
    after = partitioned(mod)
    assert not has_annotations(after)
    assert len(foreign(after)[0].ret_type.fields) == 2
    value = np.array([1, 2, 3, 4], "float32")
    assert_same_value(evaluate(after, value), evaluate(mod, value))


def test_the_same_argument_comes_in_once():
    x = var()
    after = partitioned(module_of(end(relay.add(begin(x), begin(x))), x))
    assert len(foreign(after)[0].params) == 1


def test_variables_need_no_beginning():
    x, y = var(), var("y")
    after = partitioned(module_of(end(relay.add(begin(x), y)), x, y))
    assert len(foreign(after)[0].params) == 2


def test_constants_stay_inside_or_are_arguments():
    x = var()
    weight = relay.const(np.arange(4, dtype="float32"))
    mod = module_of(end(relay.add(begin(x), begin(weight))), x)
    (inside,) = foreign(partitioned(mod))
    assert len(inside.params) == 1
    assert inside.body.args[1] is weight or isinstance(inside.body.args[1], relay.Constant)
    outside = partitioned(mod, bind_constants=False)
    assert len(foreign(outside)[0].params) == 2
    assert isinstance(outside["main"].body.args[1], relay.Constant)
    value = np.array([1, 2, 3, 4], "float32")
    for after in (partitioned(mod), outside):
        assert_same_value(evaluate(after, value), evaluate(mod, value))


def test_annotations_for_nobody_go():
    x = var()
    mod = module_of(end(relay.exp(begin(x, "default")), "default"), x)
    assert_structural_equal(partitioned(mod), parse(f"def @main({X}) {{ exp(%x) }}"))


def test_a_composite_function_is_a_region_by_itself():
    table = [("dnnl.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))]
    mod = MergeComposite(table)(parse(f"def @main({X}) {{ sqrt(nn.relu(add(exp(%x), %x))) }}"))
    composite = 'PartitionedFromPattern="add_nn.relu_", Composite="dnnl.add_relu"'
    t = "Tensor[(4), float32]"
    assert_structural_equal(
        partitioned(mod),
        parse(
            f"""
            def @main({X}) {{ sqrt(@tvmgen_default_dnnl_main_0(exp(%x), %x)) }}
            def @tvmgen_default_dnnl_main_0(%a: {t}, %b: {t}, {attrs(compiler="dnnl")}) -> {t} {{
              fn (%p: {t}, %q: {t}, {composite}) -> {t} {{ nn.relu(add(%p, %q)) }}(%a, %b)
            }}
            """
        ),
    )


def test_a_composite_function_inside_a_region_stays_there():
    x, p = var(), var("p")
    composite = relay.Function([p], relay.exp(p), attrs={"Composite": "c.exp"})
    after = partitioned(module_of(end(relay.sqrt(composite(begin(x)))), x))
    assert len(foreign(after)) == 1


def test_a_composite_function_that_names_no_compiler_stays():
    mod = parse('def @main(%x: int32) { fn (%p: int32, Composite="a") { negative(%p) }(%x) }')
    assert partitioned(mod)["main"] is mod["main"]


def test_regions_lie_in_branches_closures_and_lets():
    x, y, c, f, z = var(), var("y"), relay.var("c", "bool"), relay.var("f"), var("z")
    closure = relay.Function([y], end(relay.add(begin(y), begin(x))))
    body = relay.Let(
        f,
        closure,
        relay.Let(z, end(relay.exp(begin(f(x)))), relay.If(c, end(relay.sqrt(begin(z))), z)),
    )
    mod = module_of(body, x, c)
    after = partitioned(mod)
    assert not has_annotations(after)
    assert len(foreign(after)) == 3
    value = np.array([0, 0.25, 1, 2], "float32")
    for condition in (True, False):
        assert_same_value(evaluate(after, value, condition), evaluate(mod, value, condition))


def test_symbolic_sizes_are_type_parameters():
    n = relay.ShapeVar("n")
    x = relay.var("x", relay.TensorType((n, 4)))
    body = relay.sqrt(end(relay.exp(begin(x))))
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body, None, [n])))
    after = partitioned(mod)
    (function,) = foreign(after)
    assert len(function.type_params) == 1
    value = np.ones((3, 4), "float32")
    assert_same_value(evaluate(after, value), evaluate(mod, value))


def assert_stays(mod):
    assert partitioned(mod)["main"] is mod["main"]


def test_a_region_that_needs_its_own_result_stays():
    x = var()
    inner = relay.exp(begin(x))
    assert_stays(module_of(end(relay.add(inner, begin(relay.sqrt(end(inner))))), x))


def test_two_regions_that_need_each_other_stay_and_a_third_does_not():
    x = var()
    a, b = relay.exp(begin(x)), relay.exp(begin(x, "d"))
    # made into calls, one region would need the other, and the other way round
    one = end(relay.add(a, begin(end(b, "d"))))
    two = end(relay.subtract(b, begin(end(a), "d")), "d")
    mod = module_of(relay.sqrt(end(relay.tanh(begin(relay.multiply(one, two))))), x)
    after = partitioned(mod)
    (function,) = foreign(after)
    assert function.body.op.name == "tanh"
    value = np.array([0, 0.25, 1, 2], "float32")
    assert_same_value(evaluate(after, value), evaluate(mod, value))


def test_regions_with_branches_or_effects_stay():
    x, c = var(), relay.var("c", "bool")
    assert_stays(module_of(end(relay.If(c, relay.exp(begin(x)), begin(x))), x, c))
    r = relay.var("r", relay.RefType(relay.TensorType((4,))))
    read = end(relay.exp(relay.RefRead(begin(r))))
    assert_stays(module_of(relay.Let(r, relay.RefCreate(x), read), x))


def test_work_does_not_leave_a_branch():
    x, c = var(), relay.var("c", "bool")
    shared = relay.exp(begin(x))
    assert_stays(module_of(relay.If(c, end(relay.sqrt(shared)), relay.negative(shared)), x, c))


def test_arguments_with_effects_keep_their_order():
    text = """
    def @main(%x: float32) {
      let %r = ref(%x);
      let %next = fn () -> float32 {
        let %_ = ref_write(%r, multiply(ref_read(%r), 3f));
        ref_read(%r)
      };
      %0 = annotation.compiler_begin(%next(), compiler="c");
      %1 = annotation.compiler_begin(%next(), compiler="c");
      let %y = annotation.compiler_end(subtract(multiply(%0, 2f), %1), compiler="c");
      (%y, ref_read(%r))
    }
    """
    mod = parse(text)
    after = partitioned(mod)
    assert len(foreign(after)) == 1
    assert_same_value(evaluate(after, np.float32(2)), evaluate(mod, np.float32(2)))


def test_a_region_begins_and_ends_for_the_same_compiler():
    x = var()
    mod = module_of(end(relay.exp(begin(x, "a")), "b"), x)
    with pytest.raises(PassError, match="for the compiler `b` begins as one for another: a, b"):
        PartitionGraph()(mod)


def test_annotations_around_nothing_stay():
    x = var()
    assert_stays(module_of(end(begin(x)), x))
    assert_stays(module_of(relay.exp(begin(x)), x))


def test_functions_of_others_stay():
    mod = parse('def @main(%x: int32) { @f(%x) } def @f(%x: int32, Compiler="a") { negative(%x) }')
    after = partitioned(mod)
    assert all(after[name] is mod[name] for name in ("main", "f"))


def test_many_regions_are_cut_in_linear_time():
    x = var()
    body = x
    for _ in range(deep(3000)):
        body = relay.negative(end(relay.exp(relay.negative(begin(body)))))
    assert len(foreign(PartitionGraph()(module_of(body, x)))) == deep(3000)


@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    table = [("a.add", is_op("add")(wildcard(), wildcard())), ("b.exp", is_op("exp")(wildcard()))]
    merged = MergeComposite(table)(mod)
    after = partitioned(merged)
    assert_same_value(evaluate(after, *args), evaluate(mod, *args))
    names = [name for name, f in after.functions.items() if f.attrs.get("Compiler")]
    back = InlineCompilerFunctionsBoundTo(names)(after)
    check_well_formed(back)
    assert not foreign(back)
    assert_same_value(evaluate(back, *args), evaluate(mod, *args))


def test_a_compiler_that_is_not_here_is_named_with_the_way_back():
    x, c = var(), relay.var("c", "bool")
    straight = module_of(relay.exp(end(relay.nn.relu(begin(x)))), x)
    whole = module_of(relay.If(c, end(relay.nn.relu(begin(x))), x), x, c)
    for mod in (straight, whole):
        after = partitioned(mod)
        for one in (after, Inline()(after)):
            with pytest.raises(TargetError, match="there is no external compiler `c`") as error:
                relay.compile(one)
            assert "relay.contrib.take_back(mod)" in str(error.value)
    back = InlineCompilerFunctionsBoundTo(["tvmgen_default_c_main_0"])(partitioned(straight))
    value = np.array([-1, 0, 1, 2], "float32")
    np.testing.assert_allclose(relay.compile(back)(value), np.exp(np.maximum(value, 0)), 1e-6)
