"""Kernels say how much memory is needed while they run."""

import pytest
from hypothesis import given

import relay
from relay import tree
from relay.analysis.precompute import size_of
from relay.check.wellformed import check_well_formed
from relay.testing import assert_same_value, mlp
from relay.testing.strategies import programs
from relay.transform import AnnotateUsedMemory, FuseOps, InferType, ToANormalForm

HEADER = '#[version = "0.0.5"]\n'
X = "%x: Tensor[(4), float32]"


def annotated(text):
    mod = relay.parse(HEADER + text) if isinstance(text, str) else text
    after = AnnotateUsedMemory()(FuseOps(fuse_opt_level=0)(mod))
    check_well_formed(after)
    again = AnnotateUsedMemory()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def used(mod):
    """The memory at each kernel, by the operators in it, in order."""
    found = []
    for node in tree.postorder(mod["main"]):
        if isinstance(node, relay.Function) and node.attrs.get("Primitive"):
            found.append((node.body.op.name, node.attrs.get("used_memory")))
    return found


def test_inputs_and_outputs_count():
    mod = annotated(f"def @main({X}) {{ exp(%x) }}")
    assert used(mod) == [("exp", (32,))]
    assert mod["main"].attrs["io_used_memory"] == 32


def test_what_is_needed_later_counts():
    mod = annotated(f"def @main({X}) {{ %0 = exp(%x); add(sqrt(negative(%0)), %0) }}")
    assert used(mod) == [("exp", (32,)), ("negative", (32,)), ("sqrt", (48,)), ("add", (48,))]


def test_tuples_are_what_is_in_them():
    mod = annotated(
        f"def @main({X}) {{ let %t = (exp(%x), sqrt(%x)); let %y = negative(%t.0); (%y, %t.1) }}"
    )
    assert used(mod) == [("exp", (32,)), ("sqrt", (48,)), ("negative", (48,))]


def test_branches_count_what_they_need():
    mod = annotated(
        f"""
        def @main({X}, %c: bool) {{
          let %a = exp(%x);
          let %b = if (%c) {{ add(%a, %x) }} else {{ sqrt(%a) }};
          negative(%b)
        }}
        """
    )
    assert used(mod) == [
        ("exp", (33,)),  # the condition is one byte, and x is needed in a branch
        ("add", (48,)),
        ("sqrt", (32,)),
        ("negative", (32,)),
    ]


def test_constants_do_not_count():
    mod = annotated(f"def @main({X}) {{ add(%x, 1f) }}")
    assert used(mod) == [("add", (32,))]


def test_sizes_that_only_a_run_tells_are_not_noted():
    mod = annotated("def @main(%x: Tensor[(?), float32]) { exp(%x) }")
    assert used(mod) == [("exp", None)]
    assert "io_used_memory" not in mod["main"].attrs


@pytest.mark.parametrize(
    ("ty", "size"),
    [
        (relay.TensorType((2, 3), "float64"), 48),
        (relay.TensorType((), "bool"), 1),
        (relay.TupleType([relay.TensorType((4,), "int8"), relay.TupleType([])]), 4),
        (relay.TensorType((relay.Any(),)), None),
        (relay.FuncType([], relay.TupleType([])), None),
        (None, None),
    ],
)
def test_types_take_memory(ty, size):
    assert size_of(ty) == size


def test_a_network_needs_its_weights():
    mod, _ = mlp.get_workload(batch_size=1)
    after = AnnotateUsedMemory()(FuseOps()(InferType()(mod)))
    peak = max(
        node.attrs["used_memory"][0]
        for node in tree.postorder(after["main"])
        if isinstance(node, relay.Function) and node.attrs.get("Primitive")
    )
    weights = sum(size_of(p.checked_type) for p in mod["main"].params[1:])
    assert peak == weights + 2 * 784 * 4, "the image twice: as it is, and flat"


@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    after = AnnotateUsedMemory()(ToANormalForm()(FuseOps()(mod)))
    run = [relay.create_executor("debug", m).evaluate()(*args) for m in (mod, after)]
    assert_same_value(*run)
