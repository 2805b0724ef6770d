"""Fused Relay to programs, with a stand-in for what makes kernels: one kernel per function."""

import numpy as np
import pytest

import relay
from relay import tree
from relay.errors import DiagnosticError, LowerError
from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, Temporary, TensorSpec
from relay.program.lower import lower_module, structure
from relay.program.program import InvokeKernel, flatten
from relay.program.text import parse, to_text
from tests.support.sampling import deep


def lowering(function, constant):
    """One kernel, named after the operators inside; the weight of a `dense` is transposed first."""
    operators = [
        node.op.name
        for node in tree.postorder(function.body)
        if isinstance(node, relay.Call) and isinstance(node.op, relay.ir.expr.Op)
    ]
    name = "_".join(operators).replace(".", "_")
    inputs = [
        TensorSpec(ty.shape, ty.dtype)
        for ty in flatten(tuple(structure(p.checked_type) for p in function.params))
    ]
    ret = function.checked_type.ret_type
    outputs = tuple(TensorSpec(ty.shape, ty.dtype) for ty in flatten(structure(ret)))
    places = [Param(i) for i in range(len(inputs))]
    steps = []
    temporaries = ()
    if "nn.dense" in operators and constant[1]:
        packed = TensorSpec(inputs[1].shape[::-1], inputs[1].dtype)
        pack = Kernel("pack", (inputs[1],), (packed,), "")
        steps.append(Step(pack, (Param(1),), (Temporary(0),), constant=True))
        inputs[1], places[1], temporaries = packed, Temporary(0), (packed,)
        name += "_packed"
    shapes = "_".join("x".join(map(str, spec.shape)) or "scalar" for spec in outputs)
    kernel = Kernel(f"{name}_{shapes}", tuple(inputs), outputs, "", operators=tuple(operators))
    results = tuple(Result(i) for i in range(len(outputs)))
    steps.append(Step(kernel, tuple(places), results))
    return Lowered(tuple(steps), temporaries)


class Lowering:
    """Hands out kernels without code."""

    def lower(self, function, constant):
        return lowering(function, constant)


def program_of(text, **meta):
    module = relay.parse('#[version = "0.0.5"]\n' + text, **meta)
    return lower_module(relay.transform.InferType()(module), Lowering())


def functions(program):
    """The functions as text, without the header and the kernels."""
    return to_text(program).partition("function @prepare")[2]


def main(program):
    return functions(program).partition("function @main")[2]


DENSE = """
def @prepare(%w: Tensor[(16, 8), float32]) {
  %0 = fn (%a: Tensor[(16, 8), float32], Primitive=1) { tanh(%a) };
  (%0(%w), %w)
}
def @main(%x: Tensor[(1, 8), float32], %v: Tensor[(16, 8), float32],
          %w: Tensor[(16, 8), float32], Prepare="prepare") {
  %1 = fn (%a: Tensor[(1, 8), float32], %b: Tensor[(16, 8), float32], Primitive=1) {
    nn.relu(nn.dense(%a, %b, units=None))
  };
  %2 = fn (%a: Tensor[(1, 8), float32], %b: Tensor[(16, 8), float32], Primitive=1) {
    nn.relu(nn.dense(%a, %b, units=None))
  };
  (%1(%x, %v), %1(%x, %w), %2(%x, %v))
}
"""


def test_what_depends_on_weights_only_is_prepared_once():
    program, values = program_of(DENSE)
    assert not values
    assert (
        functions(program)
        == """() {
  %0: float32[16, 8] = constant "w"
  %1: float32[16, 8] = alloc
  invoke @tanh_16x8(%0) -> (%1)
  %2: float32[8, 16] = alloc
  invoke @pack(%1) -> (%2)
  %3: float32[8, 16] = alloc
  invoke @pack(%0) -> (%3)
  return (%2, %3)
}

function @main("x" = %0: float32[1, 8]) {
  %1: float32[8, 16] = constant "packed_0"
  %2: float32[1, 16] = alloc
  invoke @nn_dense_nn_relu_packed_1x16(%0, %1) -> (%2)
  %3: float32[8, 16] = constant "packed_1"
  %4: float32[1, 16] = alloc
  invoke @nn_dense_nn_relu_packed_1x16(%0, %3) -> (%4)
  %5: float32[1, 16] = alloc
  invoke @nn_dense_nn_relu_packed_1x16(%0, %1) -> (%5)
  return (%2, %4, %5)
}
"""
    )
    assert parse(to_text(program)) == program


def test_a_constant_in_the_program_comes_with_its_value():
    program, values = program_of(
        """
        def @main(%x: Tensor[(2,), float32]) {
          %0 = fn (%a: Tensor[(2,), float32], %b: float32, Primitive=1) { %a + %b };
          %0(%0(%x, 2f), 3f)
        }
        """
    )
    assert [(name, value.item()) for name, value in values.items()] == [
        ("constant_0", 2.0),
        ("constant_1", 3.0),
    ]
    assert 'constant "constant_1": float32[]\n' in to_text(program)


def test_tuples_are_taken_apart():
    program, _ = program_of(
        """
        def @main(%p: (Tensor[(2,), float32], (Tensor[(4,), float32],))) {
          let %q = (%p.1.0, %p.0);
          let %r = (%q, %q.1);
          %0 = fn (%a: (Tensor[(4,), float32], Tensor[(2,), float32]), Primitive=1) {
            concatenate(%a)
          };
          (%0(%r.0), %0(%q))
        }
        """
    )
    assert (
        main(program)
        == """("p" = (%0: float32[2], (%1: float32[4],))) {
  %2: float32[6] = alloc
  invoke @concatenate_6(%1, %0) -> (%2)
  %3: float32[6] = alloc
  invoke @concatenate_6(%1, %0) -> (%3)
  return (%2, %3)
}
"""
    )


def test_a_reshape_costs_nothing():
    program, _ = program_of(
        """
        def @main(%x: Tensor[(2, 3), float32]) {
          %0 = fn (%a: Tensor[(2, 3), float32], Primitive=1) { tanh(%a) };
          %1 = fn (%a: Tensor[(2, 3), float32], Primitive=1) {
            expand_dims(reshape(%a, newshape=[6]), axis=0)
          };
          %1(%0(%x))
        }
        """
    )
    assert "%2: float32[1, 6] = view %1\n  return %2" in main(program)


def test_results_are_memory_of_their_own():
    program, _ = program_of(
        """
        def @main(%x: Tensor[(2,), float32]) {
          %0 = fn (%a: Tensor[(2,), float32], Primitive=1) { tanh(%a) };
          %1 = %0(%x);
          (%x, %1, %1, 7f)
        }
        """
    )
    copies = [i for i in program["main"].straight_line if isinstance(i, InvokeKernel)]
    assert [i.kernel for i in copies] == ["tanh_2", "copy_2", "copy_2", "copy_scalar"]
    assert len(set(program["main"].result)) == 4


def test_functions_of_the_module_are_inlined():
    program, _ = program_of(
        """
        def @tanh(%a: Tensor[(2,), float32], Primitive=1) -> Tensor[(2,), float32] { tanh(%a) }
        def @twice(%a: Tensor[(2,), float32]) -> Tensor[(2,), float32] { @tanh(@tanh(%a)) }
        def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] { @twice(@twice(%x)) }
        """
    )
    assert sum(isinstance(i, InvokeKernel) for i in program["main"].straight_line) == 4
    assert len(program.kernels) == 1


def test_functions_that_are_values_are_inlined_where_they_are_called():
    program, _ = program_of(
        """
        def @twice(%f: fn (Tensor[(2,), float32]) -> Tensor[(2,), float32],
                   %a: Tensor[(2,), float32]) -> Tensor[(2,), float32] { %f(%f(%a)) }
        def @main(%x: Tensor[(2,), float32], %y: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
          %0 = fn (%a: Tensor[(2,), float32], %b: Tensor[(2,), float32], Primitive=1) { %a + %b };
          let %z = %0(%y, %y);
          let %add = fn (%a: Tensor[(2,), float32]) -> Tensor[(2,), float32] { %0(%a, %z) };
          let %pair = (%add, %x);
          @twice(%pair.0, %pair.1)
        }
        """
    )
    calls = [i for i in program["main"].straight_line if isinstance(i, InvokeKernel)]
    assert [call.inputs for call in calls] == [(1, 1), (0, 2), (3, 2)]


def test_an_operator_that_is_a_value_is_a_kernel_where_it_is_called():
    program, _ = program_of(
        """
        def @twice(%f: fn (Tensor[(2,), float32], Tensor[(2,), float32]) -> Tensor[(2,), float32],
                   %a: Tensor[(2,), float32]) -> Tensor[(2,), float32] { %f(%a, %f(%a, %a)) }
        def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] { @twice(subtract, %x) }
        """
    )
    calls = [i for i in program["main"].straight_line if isinstance(i, InvokeKernel)]
    assert [call.inputs for call in calls] == [(0, 0), (0, 1)]
    (kernel,) = program.kernels
    assert kernel.operators == ("subtract",)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("if (less(%s, 1f)) { %x } else { %x }", "an `if`"),
        ("tanh(%x)", "a call of `tanh` that is not fused"),
        (
            "let %f: fn (float32) -> float32 = fn (%y: float32) -> float32 { %f(%y) };"
            "let %z = %f(%s); %x",
            "a recursive call of a function",
        ),
        ("ref_read(ref(%x))", "a reference"),
        ("@main(%x, %s)", "a recursive call of `@main`"),
        ("@other(%x)", "a recursive call of `@other`"),
        ("match ((%x, %s)) { (%a, _) => %a }", "a `match`"),
        ("fn (%y: Tensor[(2,), float32]) { %y }", "a result that is a function"),
    ],
)
def test_what_is_not_straight_line_is_refused_by_name(body, what):
    result = "" if body.startswith("fn") else "-> Tensor[(2,), float32]"
    text = f"""
    def @other(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {{ @other(%x) }}
    def @main(%x: Tensor[(2,), float32], %s: float32) {result} {{ {body} }}
    """
    with pytest.raises(DiagnosticError) as error:
        program_of(text)
    assert what in str(error.value)
    assert "create_executor" in str(error.value)
    if what != "a result that is a function":
        assert "-->" in str(error.value)


@pytest.mark.parametrize("shape", ["(?, 2)", "(n, 2)"])
def test_shapes_must_be_known(shape):
    with pytest.raises(DiagnosticError, match="shape shows at run time"):
        program_of(f"def @main[n: Shape](%x: Tensor[{shape}, float32]) {{ %x }}")


def test_programs_are_as_deep_as_they_like():
    x = relay.var("x", shape=(2,))
    a = relay.var("a", shape=(2,))
    function = relay.Function([a], relay.tanh(a)).with_attr("Primitive", 1)
    variables = [relay.var(f"v{i}", shape=(2,)) for i in range(deep(20_000))]
    body = variables[-1]
    for i in reversed(range(len(variables))):
        value = function(variables[i - 1]) if i % 100 == 1 else variables[i - 1] if i else x
        body = relay.Let(variables[i], value, body)
    module = relay.transform.InferType()(relay.IRModule({"main": relay.Function([x], body)}))
    program, _ = lower_module(module, Lowering())
    assert (
        sum(isinstance(i, InvokeKernel) for i in program["main"].straight_line)
        == len(variables) // 100
    )


def test_the_same_array_is_one_constant():
    x = relay.var("x", shape=(3,))
    a, b = relay.var("a", shape=(3,)), relay.var("b", shape=(3,))
    add = relay.Function([a, b], a + b).with_attr("Primitive", 1)
    data = relay.nd.array(np.ones(3, "float32"))
    body = add(add(x, relay.ir.expr.Constant(data)), relay.ir.expr.Constant(data))
    module = relay.transform.InferType()(relay.IRModule({"main": relay.Function([x], body)}))
    _, values = lower_module(module, Lowering())
    assert len(values) == 1


def test_what_only_says_something_is_its_argument():
    program, _ = program_of(
        "def @main(%x: Tensor[(2), float32]) {\n"
        "  annotation.checkpoint(fn (%p: Tensor[(2), float32], Primitive=1) { exp(%p) }(%x))\n}"
    )
    assert [kernel.name for kernel in program.kernels] == ["exp_2"]


@pytest.mark.parametrize("extent", [1, relay.Any()])
def test_tensors_of_more_axes_than_arrays_have_are_refused(extent):
    x = relay.var("x", shape=(extent,), dtype="float32")
    with pytest.raises(LowerError, match="too many axes") as caught:
        relay.compile(relay.Function([x], relay.reshape(x, [1] * 200)))
    assert "200 axes" in str(caught.value)
