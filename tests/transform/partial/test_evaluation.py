"""Rules of evaluation that programs of `test_partial_evaluate.py` do not show."""

from __future__ import annotations

import numpy as np

import relay
from relay import tree
from relay.check.infer import infer_module
from relay.ir.expr import Call, Function, If
from relay.ir.types import TensorType
from relay.testing import assert_same_value
from relay.transform import FuseOps, InferType, LambdaLift, PartialEvaluate
from relay.transform.functional.to_a_normal_form import ToANormalForm
from relay.transform.partial.evaluation import Evaluator
from tests.transform.rewriting import assert_rewrites, assert_stays, parse


def evaluator(text: str, fuel: int = 100) -> Evaluator:
    module = relay.parse(f'#[version = "0.0.5"]\n{text}')
    return Evaluator(ToANormalForm()(InferType()(module)), fuel)


def test_it_is_known_whether_fuel_ran_out() -> None:
    text = """def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @f(%n - 1) } }
    def @main() -> int32 { @f(50) }"""
    for fuel, ran_out in ((10, True), (100, False)):
        one = evaluator(text, fuel)
        one.residual("main")
        assert one.ran_out is ran_out


def test_kernels_and_closures_that_were_lifted_are_left_alone() -> None:
    module = FuseOps()(parse("exp(add(%x, %y))"))
    kernels = [e for e in tree.postorder(PartialEvaluate()(module)["main"]) if _is_kernel(e)]
    assert len(kernels) == 1
    lifted = LambdaLift()(parse("let %f = fn (%z: float32) { add(%z, %t) }; %f(%f(%t))"))
    after = PartialEvaluate()(lifted)
    found, wanted = (
        relay.create_executor("debug", one).evaluate()(*_inputs(lifted)) for one in (after, lifted)
    )
    assert_same_value(found, wanted)


def _inputs(module: relay.IRModule) -> list[np.ndarray]:
    types = [param.checked_type for param in module["main"].params]
    return [np.ones(ty.concrete_shape, ty.dtype) for ty in types]


def _is_kernel(e: object) -> bool:
    return isinstance(e, Function) and bool(e.attrs.get("Primitive"))


def test_data_of_one_constructor_has_fields() -> None:
    assert_rewrites(
        PartialEvaluate(),
        """let %f = fn (%p: Pair) { match (%p) { Pair(%a, _) => %a } };
           let %q = if (%c) { Pair(%x, %y) } else { Pair(%y, %x) }; exp(%f(%q))""",
        """let %q = if (%c) { let %a = Pair(%x, %y); %a } else { let %b = Pair(%y, %x); %b };
           let %d = match (%q) { Pair(%e, _) => %e }; let %g = exp(%d); %g""",
        before="type Pair { Pair(Tensor[(2, 3), float32], Tensor[(2, 3), float32]) }",
    )


def test_operators_that_are_not_repeatable_stay_once() -> None:
    body = """let %f = fn (%z: float32) { annotation.stop_fusion(%z) };
      let %a = %f(%t); let %b = %f(%t); (%a, %a)"""
    found = PartialEvaluate()(parse(body))
    calls = [e for e in tree.postorder(found["main"]) if isinstance(e, Call)]
    assert [call.op.name for call in calls] == ["annotation.stop_fusion"] * 2


def test_both_branches_have_the_type_that_they_had() -> None:
    dynamic = "Tensor[(?), float32]"
    body = f"""let %f = fn (%z: {dynamic}) -> {dynamic} {{ %z }};
      if (%c) {{ %f(%p) }} else {{ %f(%q) }}"""
    params = "%c: bool, %p: Tensor[(2), float32], %q: Tensor[(3), float32]"
    after = infer_module(PartialEvaluate()(parse(body, params)))
    result = after["main"].body.checked_type
    assert result == TensorType((relay.Any(),), "float32")
    assert any(isinstance(e, If) for e in tree.postorder(after["main"]))


def test_a_match_that_no_clause_fits_is_left_to_fail() -> None:
    module = parse("match? (A) { B => %x }", before="type D { A, B }")
    assert "match?" in str(PartialEvaluate()(module)["main"])


def test_a_function_without_anything_known_is_given_back() -> None:
    assert_stays(PartialEvaluate(), "let %a = add(%x, %y); %a")
