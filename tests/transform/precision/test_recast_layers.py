"""Single layers at other element types."""

import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import count_ops, resnet
from relay.transform import InferType, recast

HEADER = '#[version = "0.0.5"]\n'
TWO = """def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(3, 3, 3, 3), float32]) {
  nn.conv2d(nn.conv2d(%x, %w), %w)
}"""


def parse(text):
    return InferType()(relay.parse(HEADER + text))["main"]


def test_arguments_and_results_are_converted():
    found = recast(parse(TWO), "int8", "int32")
    wanted = parse(
        """def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(3, 3, 3, 3), float32]) {
          %0 = nn.conv2d(cast(%x, dtype="int8"), cast(%w, dtype="int8"), out_dtype="int32");
          %1 = cast(cast(%0, dtype="float32"), dtype="int8");
          %2 = nn.conv2d(%1, cast(%w, dtype="int8"), out_dtype="int32");
          cast(%2, dtype="float32")
        }"""
    )
    assert_structural_equal(found, wanted)


def test_layers_are_skipped_by_number_from_either_end():
    first = recast(parse(TWO), "int8", "int32", skip_layers=[0])
    last = recast(parse(TWO), "int8", "int32", skip_layers=[-1])
    assert first.body.args[0].op.name == "nn.conv2d"
    assert last.body.op.name == "nn.conv2d"


def test_a_result_of_the_type_it_had_is_not_converted():
    found = recast(parse(TWO), "float16", "float32")
    assert found.body.op.name == "nn.conv2d"
    assert count_ops(found)["cast"] == 4


def test_other_operators_on_demand():
    f = parse("def @main(%x: Tensor[(2, 2), float32]) { nn.dense(%x, %x) }")
    assert recast(f, "int8", "int32") is f
    assert count_ops(recast(f, "int8", "int32", ops=["nn.dense"])) == {"cast": 3, "nn.dense": 1}


def test_a_network_stays_well_typed():
    mod, _ = resnet.get_workload(1, 10, 18, (3, 32, 32))
    found = recast(mod["main"], "int8", "int32", skip_layers=[0])
    assert found.checked_type == mod["main"].checked_type


def test_what_cannot_be_done_is_refused():
    with pytest.raises(PassError, match="there is no layer 7 to skip: there are 2"):
        recast(parse(TWO), "int8", "int32", skip_layers=[7])


@pytest.mark.parametrize(
    ("ops", "before", "after"),
    [
        (
            ["add", "nn.relu"],
            "nn.relu(add(%x, %y))",
            """%0 = add(cast(%x, dtype="float16"), cast(%y, dtype="float16"));
            %1 = nn.relu(cast(cast(%0, dtype="float32"), dtype="float16"));
            cast(%1, dtype="float32")""",
        ),
        (
            ["concatenate"],
            "concatenate((%x, %y))",
            """%0 = concatenate((cast(%x, dtype="float16"), cast(%y, dtype="float16")));
            cast(%0, dtype="float32")""",
        ),
        (
            ["take"],
            "take(%x, %i)",
            'cast(take(cast(%x, dtype="float16"), %i), dtype="float32")',
        ),
        (
            ["split"],
            "split(%x, indices_or_sections=2).1",
            """%0 = split(cast(%x, dtype="float16"), indices_or_sections=2);
            (cast(%0.0, dtype="float32"), cast(%0.1, dtype="float32")).1""",
        ),
        (["less"], "less(%x, %y)", 'less(cast(%x, dtype="float16"), cast(%y, dtype="float16"))'),
    ],
)
def test_operators_that_give_what_they_take(ops, before, after):
    params = "%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32], %i: Tensor[(1), int64]"
    given = parse(f"def @main({params}) {{ {before} }}")
    wanted = parse(f"def @main({params}) {{ {after} }}")
    assert_structural_equal(recast(given, "float16", "float16", ops=ops), wanted)


def test_a_module_is_recast_in_main():
    mod = InferType()(relay.parse(HEADER + TWO))
    found = recast(mod, "int8", "int32")
    assert_structural_equal(found["main"], recast(mod["main"], "int8", "int32"))
    assert "cast" not in count_ops(mod["main"])
