"""Joins of many tensors are taken apart where kernels have few arguments."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops
from relay.transform import FuseOps, InferType, SplitArgs

HEADER = '#[version = "0.0.5"]\n'
PARAMS = ", ".join(f"%{c}: Tensor[(2, 3), float32]" for c in "abcde")


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def assert_rewrites(limit, before, after):
    result = SplitArgs(limit)(parse(f"def @main({PARAMS}) {{ {before} }}"))
    assert_structural_equal(result, parse(f"def @main({PARAMS}) {{ {after} }}"))
    assert SplitArgs(limit)(result)["main"] is result["main"]


def assert_stays(limit, body):
    before = parse(f"def @main({PARAMS}) {{ {body} }}")
    assert SplitArgs(limit)(before)["main"] is before["main"]


def test_a_join_is_split_into_joins_that_do_not_fuse():
    assert_rewrites(
        4,
        "concatenate((%a, %b, %c, %d, %e), axis=1)",
        """
        %0 = annotation.stop_fusion(concatenate((%a, %b, %c), axis=1));
        %1 = annotation.stop_fusion(concatenate((%d, %e), axis=1));
        concatenate((%0, %1), axis=1)
        """,
    )


def test_parts_of_a_stack_are_concatenated():
    assert_rewrites(
        4,
        "stack((%a, %b, %c, %d), axis=-1)",
        """
        %0 = annotation.stop_fusion(stack((%a, %b, %c), axis=-1));
        %1 = annotation.stop_fusion(stack((%d,), axis=-1));
        concatenate((%0, %1), axis=-1)
        """,
    )


def test_named_and_computed_tuples_are_split_too():
    assert_rewrites(
        3,
        "let %t = (%a, %b, %c); concatenate(%t)",
        """
        let %t = (%a, %b, %c);
        %0 = annotation.stop_fusion(concatenate((%t.0, %t.1)));
        %1 = annotation.stop_fusion(concatenate((%t.2,)));
        concatenate((%0, %1))
        """,
    )
    assert_rewrites(
        3,
        "concatenate(split(%a, indices_or_sections=3, axis=1), axis=1)",
        """
        %0 = split(%a, indices_or_sections=3, axis=1);
        %1 = annotation.stop_fusion(concatenate((%0.0, %0.1), axis=1));
        %2 = annotation.stop_fusion(concatenate((%0.2,), axis=1));
        concatenate((%1, %2), axis=1)
        """,
    )


def test_few_arguments_stay():
    assert_stays(6, "concatenate((%a, %b, %c, %d, %e))")
    assert_stays(0, "concatenate((%a, %b, %c, %d, %e))")
    assert_stays(3, "(%a, %b, %c, %d, %e)")
    assert_stays(
        3,
        "fn (%t: (Tensor[(2), int8], Tensor[(2), int8], Tensor[(2), int8]), Primitive=1)"
        " { concatenate(%t) }",
    )


def test_a_limit_without_room_is_refused():
    for limit in (1, 2, True, 2.5, "many"):
        with pytest.raises(PassError, match="room for two"):
            SplitArgs(limit)


def test_branches_and_closures_are_entered():
    assert_rewrites(
        3,
        "let %f = fn (%x: bool) { if (%x) { concatenate((%a, %b, %c)) } else "
        "{ concatenate((%c, %b, %a)) } }; %f(True)",
        """
        let %f = fn (%x: bool) {
          if (%x) {
            %0 = annotation.stop_fusion(concatenate((%a, %b)));
            %1 = annotation.stop_fusion(concatenate((%c,)));
            concatenate((%0, %1))
          } else {
            %2 = annotation.stop_fusion(concatenate((%c, %b)));
            %3 = annotation.stop_fusion(concatenate((%a,)));
            concatenate((%2, %3))
          }
        };
        %f(True)
        """,
    )


@pytest.mark.parametrize(("count", "limit"), [(100, 4), (27, 3), (9, 9), (1000, 5)])
@pytest.mark.parametrize("join", [relay.concatenate, relay.stack])
def test_no_kernel_has_more_arguments_and_the_meaning_stays(count, limit, join):
    xs = [relay.var(f"x{i}", shape=(2,), dtype="int32") for i in range(count)]
    before = InferType()(relay.IRModule.from_expr(relay.Function(xs, join(xs, 0))))
    after = SplitArgs(limit)(before)
    for e in relay.tree.postorder(FuseOps()(after)["main"]):
        if isinstance(e, relay.Function) and e.attrs.get("Primitive"):
            assert len(e.params) < limit
    inputs = [np.array([i, -i], "int32") for i in range(count)]
    results = [
        relay.create_executor("debug", m).evaluate()(*inputs).numpy() for m in (before, after)
    ]
    np.testing.assert_array_equal(*results)


def test_symbolic_extents_are_kept():
    n = relay.ShapeVar("n")
    x = relay.var("x", shape=(n, 2))
    after = SplitArgs(3)(relay.IRModule.from_expr(relay.concatenate([x, x, x], axis=1)))
    assert count_ops(after["main"])["concatenate"] == 3
    assert after["main"].body.checked_type.shape[1] == 6
