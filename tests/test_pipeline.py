"""Programs go through the passes of a level."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import pipeline, tree
from relay.analysis import check_lowerable
from relay.driver import compile_program
from relay.errors import LowerError
from relay.executors.straight_line import StraightLineExecutable
from relay.ir.expr import Constant, bind
from relay.nd import Weight
from relay.pipeline.levels import STRAIGHT_LINE
from relay.pipeline.whole import WHOLE_PROGRAM
from relay.prelude import Prelude
from relay.program.program import InvokeKernel
from relay.program.straight import is_straight_line
from relay.target.target import Target
from relay.testing import (
    Seeded,
    assert_generated_ok,
    assert_same_value,
    gru,
    lstm_loop,
    mlp,
    random_inputs,
    tree_lstm,
)
from relay.testing.strategies import programs
from relay.transform import Explanation, PassContext, Sequential
from tests.interpreter.test_programs import compare, plain
from tests.programs.arguments import value
from tests.programs.expected import CASES
from tests.support.looping import each
from tests.support.random_networks import random_network

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted(Path(__file__).parent.joinpath("programs").glob("*.relay"))


def primitives(module):
    return [
        e
        for f in module.functions.values()
        for e in tree.postorder(f)
        if isinstance(e, relay.Function) and e.attrs.get("Primitive")
    ]


def operators(function):
    return [e.op.name for e in tree.postorder(function) if isinstance(e, relay.Call)]


def test_a_level_is_a_sequence_of_passes():
    for level in range(5):
        assert isinstance(pipeline.passes(level), Sequential)
    names = [p.name for p in pipeline.passes(0).passes]
    assert names[-2:] == ["FuseOps", "HandOverConstants"]


@pytest.mark.parametrize("level", [-1, 5, 2.0, True, "2"])
def test_there_are_five_levels(level):
    with pytest.raises(relay.PassError, match="levels go from 0 to 4"):
        pipeline.passes(level)


def test_at_level_zero_every_operator_is_a_kernel():
    module = relay.parse(HEADER + "def @main(%x: Tensor[(3), float32]) { exp(add(%x, 1f + 2f)) }")
    kernels = primitives(pipeline.passes(0)(module))
    assert sorted(map(operators, kernels)) == [["add"], ["add"], ["exp"]]


def test_at_level_one_work_that_need_not_be_done_is_not_done():
    module = relay.parse(
        HEADER
        + """
        def @main(%x: Tensor[(3), float32]) {
          let %unused = sqrt(%x);
          exp(add(nn.dropout(%x).0, 1f + 2f))
        }
        def @other(%x: Tensor[(3), float32]) { %x }
        """
    )
    result = pipeline.passes(1)(module)
    assert [name.name_hint for name in result.functions] == ["main"]
    assert sorted(map(operators, primitives(result))) == [["add"], ["exp"]]


def test_at_level_two_operators_share_kernels_and_nothing_is_done_twice():
    module = relay.parse(
        HEADER
        + """
        def @main(%x: Tensor[(3), float32]) {
          let %a = add(%x, 1f);
          multiply(exp(%a), exp(add(%x, 1f)))
        }
        """
    )
    (kernel,) = primitives(pipeline.passes(2)(module))
    assert operators(kernel) == ["add", "exp", "multiply"]


def test_the_level_of_the_context_does_not_count_but_disabled_passes_do():
    module = relay.parse(HEADER + "def @main() { 1f + 2f }")
    with PassContext(opt_level=0):
        assert isinstance(pipeline.passes(2)(module)["main"].body, relay.Constant)
    with PassContext(opt_level=4, disabled_pass=["FoldConstant"]):
        assert isinstance(pipeline.passes(2)(module)["main"].body, relay.Call)


@pytest.mark.parametrize("level", pipeline.LEVELS)
def test_a_pass_of_a_higher_level_runs_where_the_context_requires_it(level):
    x = relay.var("x", shape=(3,))
    with PassContext(opt_level=level, required_pass=["FastMath"]):
        result, _ = relay.optimize(relay.Function([x], relay.exp(x)))
    (kernel,) = primitives(result)
    assert operators(kernel) == ["fast_exp"]
    with PassContext(required_pass=["FastMath"], disabled_pass=["FastMath"]):
        (kernel,) = primitives(pipeline.passes(level)(relay.IRModule.from_expr(relay.exp(x))))
    assert operators(kernel) == ["exp"]


def test_a_required_pass_takes_the_place_it_has_at_the_highest_level():
    for lists in (STRAIGHT_LINE, WHOLE_PROGRAM):
        found = pipeline._with_required(lists[3], lists[4], {"FastMath"})
        assert found == list(lists[4])
        assert pipeline._with_required(lists[3], lists[4], {"Nobody"}) == list(lists[3])


def test_optimize_binds_parameters_and_takes_the_level_of_the_context():
    module, params = mlp.get_workload(batch_size=1)
    left = {"nobody": np.ones(1)}
    for level in (0, 2):
        with PassContext(opt_level=level):
            result, rest = relay.optimize(module, "llvm", {**params, **left})
        assert rest == left
        assert [p.name_hint for p in result["main"].params] == ["data"]
        data = np.random.default_rng(0).normal(size=(1, 1, 28, 28)).astype("float32")
        expected = relay.create_executor("debug", module).evaluate()(data, **params)
        found = relay.create_executor("debug", result).evaluate()(data)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    assert len(module["main"].params) == 1 + len(params)


def test_optimize_takes_an_expression():
    x = relay.var("x", shape=(3,))
    result, rest = relay.optimize(relay.Function([x], relay.exp(x)))
    assert rest == {}
    assert len(primitives(result)) == 1


@pytest.mark.parametrize("level", [1, 3])
@given(program=programs(size=30))
def test_programs_mean_the_same_afterwards(program, level):
    module, inputs = program
    result = pipeline.passes(level)(module)
    assert_generated_ok(result)
    run = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (result, module)]
    assert_same_value(*run)


@pytest.mark.parametrize("level", range(5))
def test_networks_mean_the_same_afterwards(level):
    for seed in range(6):
        module = random_network(Seeded(seed), branches=seed % 2 == 1)
        inputs = random_inputs(module, Seeded(seed))
        result = pipeline.passes(level)(module)
        assert_generated_ok(result)
        run = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (result, module)]
        assert_same_value(*run)


@pytest.mark.full
@pytest.mark.parametrize("level", range(5))
def test_many_networks_mean_the_same_afterwards(level):
    for seed in range(6, 300):
        module = random_network(Seeded(seed), branches=seed % 2 == 1)
        inputs = random_inputs(module, Seeded(seed))
        run = [
            relay.create_executor("debug", m).evaluate()(*inputs)
            for m in (pipeline.passes(level)(module), module)
        ]
        assert_same_value(*run)


# all passes of the pipelines, those inside others included
NAMES = sorted(
    {
        one.name
        for levels in (STRAIGHT_LINE, WHOLE_PROGRAM)
        for member in levels[-1]
        for one in (member, *getattr(member, "passes", ()))
    }
)


@pytest.mark.rotate(6)
@pytest.mark.parametrize("name", NAMES)
def test_every_pass_can_be_disabled(name):
    module = random_network(Seeded(3))
    inputs = random_inputs(module, Seeded(3))
    expected = relay.create_executor("debug", module).evaluate()(*inputs)
    for passes in (pipeline.passes(4), pipeline.whole_program(4)):
        with PassContext(disabled_pass=[name]), Explanation() as story:
            result = passes(module)
        (outer,) = story.steps
        # what others require they bring along
        required = {needed for member in passes.passes for needed in member.info.required}
        assert name in required or name not in {step.name for step in outer.inner}
        assert_same_value(relay.create_executor("debug", result).evaluate()(*inputs), expected)


def test_passes_inside_others_run_whatever_their_levels():
    module, _ = mlp.get_workload(1)
    with PassContext(opt_level=0), Explanation() as story:
        pipeline.passes(3)(module)
    assert story["BackwardFoldScaleAxis"].depth == 2


DYNAMIC = """
def @main(%x: Tensor[(2, 6), float32]) {
  let %shape = concatenate((cast(expand_dims(3, axis=0), dtype="int64"), meta[relay.Constant][0]));
  let %y = dyn.reshape(%x, %shape);
  dyn.tile(%y, meta[relay.Constant][0])
}
"""
# constants come through the call
CALLED = (
    DYNAMIC.replace("dyn.reshape(", "@reshaped(")
    + """
def @reshaped(%x: Tensor[(2, 6), float32], %shape: Tensor[(2), int64]) { dyn.reshape(%x, %shape) }
"""
)


def dynamic(text):
    table = {"relay.Constant": [relay.const(np.array([4]), "int64")]}
    return relay.parse(HEADER + text, None, None, table)


def dynamic_calls(module):
    found = {name for function in primitives(module) for name in operators(function)}
    return sorted(name for name in found if name.startswith("dyn."))


@pytest.mark.parametrize(
    ("passes", "text"),
    [
        (pipeline.passes, DYNAMIC),
        (pipeline.whole_program, DYNAMIC),
        (pipeline.whole_program, CALLED),
    ],
)
def test_from_level_two_on_operators_are_static_that_can_be(passes, text):
    module = dynamic(text)
    assert dynamic_calls(passes(0)(module)) == ["dyn.reshape", "dyn.tile"]
    for level in (2, 3, 4):
        after = passes(level)(module)
        assert not dynamic_calls(after)
        assert after["main"].ret_type == relay.TensorType((3, 16))
    with PassContext(disabled_pass=["DynamicToStatic"]):
        assert dynamic_calls(passes(2)(module))


def test_what_is_not_known_stays_dynamic():
    text = "def @main(%x: Tensor[(6), float32], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s) }"
    assert dynamic_calls(pipeline.whole_program(3)(dynamic(text))) == ["dyn.reshape"]


def test_a_program_that_is_static_after_all_is_straight_line_code():
    assert is_straight_line(pipeline.typed(2)(dynamic(DYNAMIC)))
    assert not is_straight_line(pipeline.typed(1)(dynamic(DYNAMIC)))
    value = np.arange(12, dtype="float32").reshape(2, 6)
    wanted = np.tile(value.reshape(3, 4), 4)
    executable = relay.compile(dynamic(DYNAMIC))
    assert isinstance(executable, StraightLineExecutable)
    np.testing.assert_array_equal(executable(value), wanted)


def test_layouts_are_those_of_the_target():
    x = relay.var("x", shape=(1, 64, 12, 12))
    w = relay.var("w", shape=(64, 64, 3, 3))
    net = relay.Function([x, w], relay.nn.conv2d(x, w, padding=(1, 1)))
    texts = {
        features: str(pipeline.passes(3, Target.x86(features))(relay.IRModule.from_expr(net)))
        for features in ("avx2", "avx512")
    }
    assert texts["avx2"] != texts["avx512"]


# --- whole programs ------------------------------------------------------------------------------


def whole(module, level):
    result = pipeline.whole_program(level)(module)
    assert_generated_ok(result)
    check_lowerable(result)
    return result


def evaluate(module, *inputs):
    return relay.create_executor("debug", module).evaluate()(*inputs)


def kernels(module, name):
    """The operators of the kernels in one function, kernel by kernel."""
    found = (e for e in tree.postorder(module[name]) if isinstance(e, relay.Function))
    return [operators(e) for e in found if e.attrs.get("Primitive")]


def with_weights(module, params):
    """The module with its parameters as weights, the way a driver hands them over."""
    weights = {name: Constant(Weight(name, value.array)) for name, value in params.items()}
    module = module.copy()
    main = module["main"]
    given = {p: weights[p.name_hint] for p in main.params if p.name_hint in weights}
    module["main"] = bind(main, given)
    return module


@pytest.mark.parametrize("level", [-1, 5, 2.0, True, "2"])
def test_whole_programs_have_the_same_levels(level):
    with pytest.raises(relay.PassError, match="levels go from 0 to 4"):
        pipeline.whole_program(level)


@pytest.mark.parametrize("level", [0, 1, 3])
@each("path", PROGRAMS)
def test_every_program_can_be_lowered(path, level):
    module = relay.parse(path.read_text(encoding="utf-8"))
    if "main" not in module or module["main"].attrs.get("Compiler"):
        return
    if path.stem == "function_types":
        with pytest.raises(LowerError, match="`@main` is polymorphic"):
            pipeline.whole_program(level)(module)
        return
    whole(module, level)


@pytest.mark.rotate(6)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", CASES)
def test_programs_give_what_python_gives(name, level):
    path = Path(__file__).parent / "programs" / f"{name}.relay"
    module = pipeline.whole_program(level)(relay.parse(path.read_text(encoding="utf-8")))
    run = relay.create_executor("debug", module).evaluate()
    function, cases = CASES[name]
    types = [param.checked_type for param in module["main"].params]
    for arguments in cases[:3]:
        given = [value(data, ty, module) for data, ty in zip(arguments, types, strict=True)]
        compare(plain(run(*given)), function(*arguments))


PRELUDE = """
    def @numbers(%n: int32) -> List[int32] {
      @unfoldr(fn (%i: int32) -> Option[(int32, int32)] {
        if (%i == %n) { None } else { Some((%i + 1, %i)) }
      }, 0)
    }
    def @main(%n: int32, %x: Tensor[(2), float32]) {
      let %xs = @numbers(%n);
      let %ys = @map(fn (%i: int32) { multiply(cast(%i, dtype="float32"), %x) }, %xs);
      let %pairs = @zip(%xs, %ys);
      let %scale = fn (%c: float32) { fn (%v: Tensor[(2), float32]) { %v * %c } };
      let %tree = Rose(1, @map(fn (%i: int32) { Rose(%i, Nil) }, %xs));
      let %kept = @filter(fn (%p: (int32, Tensor[(2), float32])) { %p.0 > 1 }, %pairs);
      (
        @foldl(fn (%a: Tensor[(2), float32], %y: Tensor[(2), float32]) { %a + %y }, %x, %ys),
        @foldr(fn (%p: (int32, Tensor[(2), float32]), %a: int32) { %p.0 - %a }, 0, %kept),
        @foldr1(fn (%a: int32, %b: int32) { %a * 2 - %b }, @rev(Cons(1, %xs))),
        @compose(%scale(2f), %scale(3f))(%x),
        @iterate(%scale(2f), %n)(%x),
        @iterate(fn (%i: int32) { %i + 1 }, %n)(%n),
        (@length(%xs), @length(%ys), @size(%tree), @sum(@concat(%xs, %xs))),
        @nth(@update(%ys, 0, %x), 0),
        @hd(@tl(%xs)),
        @tmap(fn (%i: int32) { cast(%i, dtype="float32") }, %tree),
        @map_accuml(fn (%a: int32, %i: int32) { (%a + %i, %a * %i) }, 0, %xs),
        @map_accumr(fn (%a: Tensor[(2), float32], %y: Tensor[(2), float32]) { (%y, %a) }, %x, %ys),
        @unfoldl(fn (%i: int32) { if (%i < 0) { None } else { Some((%i - 1, (%i, True))) } }, %n),
        @id(@flip(fn (%a: int32, %b: int32) { %a - %b }))(1, %n),
        @map(@id, %ys)
      )
    }
"""


@pytest.mark.parametrize("level", [0, 3])
def test_the_functions_of_the_prelude_work_at_several_types(level):
    module = relay.parse(HEADER + PRELUDE, "prelude", Prelude().mod)
    result = whole(module, level)
    x = np.array([0.5, -2], "float32")
    for n in (2, 5):
        assert_same_value(evaluate(result, n, x), evaluate(module, n, x))


def test_loops_over_known_functions_need_no_closures():
    module = relay.parse(HEADER + PRELUDE, "prelude", Prelude().mod)
    result = pipeline.whole_program(3)(module)
    makers = [name.name_hint for name, f in result.functions.items() if f.attrs.get("Closure")]
    # `iterate` makes a function of as many as it is told at run time
    assert all("iterate" in name or "compose" in name for name in makers), makers


@pytest.mark.parametrize("level", [0, 3])
@given(program=programs())
def test_random_programs_can_be_lowered_and_mean_the_same(program, level):
    module, inputs = program
    result = whole(module, level)
    try:
        expected = evaluate(module, *inputs)
    except relay.RelayError:
        return
    assert_same_value(evaluate(result, *inputs), expected)


@pytest.mark.parametrize("level", [0, 3])
def test_operators_are_fused_in_branches_clauses_and_recursive_functions(level):
    module = relay.parse(
        HEADER
        + """
        type Option[A] { Some(A), None }
        def @f(%x: Tensor[(4), float32], %n: int32, %o: Option[Tensor[(4), float32]])
            -> Tensor[(4), float32] {
          if (%n == 0) { exp(negative(%x)) } else {
            let %y = match (%o) { Some(%z) => sqrt(abs(%z)) + %x, None => tanh(sigmoid(%x)) };
            @f(%y, %n - 1, %o)
          }
        }
        def @main(%x: Tensor[(4), float32], %n: int32) { (@f(%x, %n, None), @f(%x, %n, Some(%x))) }
        """
    )
    found = sorted(kernels(whole(module, level), "f"))
    fused = [["abs", "sqrt", "add"], ["equal"], ["negative", "exp"], ["sigmoid", "tanh"]]
    alone = [[name] for kernel in fused for name in kernel]
    assert found == sorted([*(fused if level else alone), ["subtract"]])


@pytest.mark.parametrize("model", [gru, lstm_loop])
def test_a_step_of_a_recurrent_network_is_a_few_kernels_over_its_weights(model):
    module = whole(with_weights(*model.get_workload()), 3)
    loop = kernels(module, "main_for_loop_direct")
    assert ["nn.dense", "add"] in loop
    # two count the steps and end the loop; an LSTM has two results, which are two kernels
    assert len(loop) <= 7
    names = [param.name_hint for param in module["main_for_loop_direct"].params]
    assert not any("weight" in name or "bias" in name for name in names)


@pytest.mark.parametrize("net", [tree_lstm.get_net, tree_lstm.as_text, tree_lstm.by_prelude])
def test_a_node_of_a_tree_network_is_a_few_kernels_over_its_weights(net):
    module = whole(with_weights(*tree_lstm.get_workload(net=net)), 3)
    assert not any(f.attrs.get("Closure") for f in module.functions.values())
    assert all("weight" not in p.name_hint for f in module.functions.values() for p in f.params)
    found = [k for name in module.functions for k in kernels(module, name)]
    assert sum("nn.dense" in kernel for kernel in found) <= 6
    assert len(found) <= 14


def test_what_is_made_of_weights_is_no_part_of_a_whole_program():
    """The scale of a batch norm is in the weights of the convolution, be its sizes known or not."""
    source = """
    def @main[n: Shape](
      %x: Tensor[(n, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32],
      %g: Tensor[(16), float32], %b: Tensor[(16), float32], %m: Tensor[(16), float32],
      %v: Tensor[(16), float32]
    ) {
      nn.relu(nn.batch_norm(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]), %g, %b, %m, %v).0)
    }"""
    random = np.random.default_rng(0)
    shapes = {"w": (16, 3, 3, 3), "g": (16,), "b": (16,), "m": (16,), "v": (16,)}
    params = {n: random.uniform(0.5, 1, s).astype("float32") for n, s in shapes.items()}
    program = compile_program(relay.parse(HEADER + source), params).program
    called = {i.kernel for i in program["main"].instructions if isinstance(i, InvokeKernel)}
    operators = {op for k in program.kernels if k.name in called for op in k.operators}
    assert "multiply" not in operators
    assert "add" in operators
