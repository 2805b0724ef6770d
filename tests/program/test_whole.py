"""Whole programs as register machines: what is known stays known, sizes are compared once."""

import pytest

import relay
from relay.errors import LowerError
from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, TensorSpec
from relay.program.lower import structure
from relay.program.program import TensorSpec as Spec
from relay.program.program import flatten
from relay.program.verify import verify
from relay.program.whole import lower_program
from tests.support.sampling import deep


class Lowering:
    """Kernels without code, named after their operators."""

    def lower(self, function, constant):
        given = [p.checked_type for p in function.params]
        specs = [TensorSpec(t.shape, t.dtype) for t in flatten(tuple(map(structure, given)))]
        made = [
            TensorSpec(t.shape, t.dtype) for t in flatten(structure(function.body.checked_type))
        ]
        name = "_".join(
            node.op.name.replace(".", "_")
            for node in relay.tree.postorder(function.body)
            if isinstance(node, relay.Call)
        )
        places = tuple(map(Param, range(len(specs)))), tuple(map(Result, range(len(made))))
        return Lowered((Step(Kernel(name, tuple(specs), tuple(made), ""), *places),))


def program_of(text, level=3):
    module = relay.parse('#[version = "0.0.5"]\n' + text)
    program, _ = lower_program(relay.pipeline.whole_program(level)(module), Lowering())
    verify(program)
    return program


def lines(function):
    """The instructions of a function, as text."""
    text = str(function).splitlines()
    return [line.strip() for line in text]


def function_text(program, name):
    whole = str(program)
    begin = whole.index(f"function @{name}(")
    return whole[begin : whole.index("\n}", begin) + 2]


LIST = "type List[A] { Cons(A, List[A]), Nil }\n"


def test_a_branch_on_scalars_needs_no_kernel_and_no_memory():
    program = program_of(
        "def @main(%n: int32) -> int32 { if (%n < 3) { %n + 1 } else { @main(%n - 2) } }"
    )
    assert program.kernels == ()
    text = function_text(program, "main")
    assert "branch" in text
    assert "tail call @main" in text
    assert "alloc" not in text


def test_the_value_of_a_branch_in_the_middle_is_the_parameter_of_the_block_after():
    program = program_of(
        "def @main(%n: int32, %x: Tensor[(2), float32]) {\n"
        "  let %y = if (%n < 3) { tanh(%x) } else { exp(%x) };\n"
        "  (%y, %n)\n}"
    )
    main = program["main"]
    joins = [block for block in main.blocks if block.params]
    assert [main.registers[r] for block in joins for r in block.params] == [Spec((2,), "float32")]


def test_data_is_matched_by_switches_that_look_at_each_part_once():
    program = program_of(
        LIST + "def @main(%xs: List[int32]) -> int32 {\n"
        "  match (%xs) { Cons(%x, Cons(%y, _)) => %x + %y, Cons(%x, _) => %x, Nil => 0 }\n}"
    )
    text = function_text(program, "main")
    assert text.count("switch") == 2
    assert text.count("Cons.0") == 2  # what no clause asks for is not taken out


def test_a_match_that_may_fail_says_so():
    program = program_of(
        LIST + "def @main(%xs: List[int32]) -> int32 { match? (%xs) { Cons(%x, _) => %x } }"
    )
    assert 'fail "no clause of the match fits the value"' in function_text(program, "main")


def test_data_of_tuples_holds_their_fields():
    program = program_of(
        LIST + "def @main(%n: int32) { Cons((%n, (1f, ())), Nil) }",
    )
    (kind,) = program.types
    assert kind.name == "List[(int32, (float32, ()))]"
    assert [str(place) for place in map(relay.program.program.spec_text, kind["Cons"].places)] == [
        "int32",
        "float32",
        kind.name,
    ]


def test_a_function_that_is_known_is_called_by_its_name():
    program = program_of(
        "def @main(%n: int32) -> int32 {\n"
        "  let %f = fn (%i: int32, %s: int32) -> int32 {\n"
        "    if (%i == 0) { %s + %n } else { %f(%i - 1, %s * 2) }\n"
        "  };\n"
        "  %f(%n, 1)\n}",
        level=0,
    )
    text = str(program)
    assert "closure @" not in text
    assert "tail call @main_f" in text


def test_a_function_that_is_stored_becomes_a_closure():
    program = program_of(
        LIST + "def @apply(%fs: List[fn (int32) -> int32], %n: int32) -> int32 {\n"
        "  match (%fs) { Cons(%f, %rest) => @apply(%rest, %f(%n)), Nil => %n }\n}\n"
        "def @main(%n: int32) -> int32 {\n"
        "  @apply(Cons(fn (%x: int32) { %x + %n }, Cons(fn (%x: int32) { %x * 3 }, Nil)), %n)\n}"
    )
    text = str(program)
    assert text.count("= closure @") == 2
    assert "data List[fn(int32) -> int32]" in text


def test_cells_are_made_read_and_written_in_order():
    program = program_of(
        "def @main(%n: int32) -> int32 {\n"
        "  let %r = ref(%n);\n"
        "  let %a = ref_read(%r);\n"
        "  let %u = ref_write(%r, %a + 1);\n"
        "  ref_read(%r)\n}"
    )
    words = [line.split() for line in lines(function_text(program, "main"))]
    order = [w for line in words for w in line if w in ("reference", "read", "write", "add")]
    assert order == ["reference", "read", "add", "write", "read"]


def test_sizes_that_only_the_type_knows_are_compared():
    program = program_of(
        LIST + "def @main(%xs: List[Tensor[(3), float32]]) -> Tensor[(3), float32] {\n"
        '  match (%xs) { Cons(%x, _) => exp(%x), Nil => zeros(shape=[3], dtype="float32") }\n}'
    )
    text = function_text(program, "main")
    assert "data List[float32[?]]" in str(program)
    assert "require" in text
    assert "axis 0 of field 0 of `Cons` is not 3 long" in text


def test_names_of_dimensions_that_occur_twice_must_agree():
    program = program_of(
        "def @main[n: Shape](%x: Tensor[(n), float32], %y: Tensor[(n + 1), float32]) -> int32 "
        "{ let %z = (%x, %y); 1 }",
        level=0,
    )
    assert "axis 0 of `%y` is not `n + 1`" in function_text(program, "main")


def test_constants_that_no_instruction_reads_are_not_part_of_the_program():
    program = program_of(
        "def @main(%n: int32) -> int32 { if (%n == 7) { 5 } else { %n } }", level=0
    )
    assert program.constants == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @main(%f: fn () -> int32) -> int32 { %f() }", "parameter `%f` of `@main`"),
        ("def @main() { fn (%x: int32) { %x } }", "the result of `@main`"),
    ],
)
def test_functions_do_not_pass_between_python_and_native_code(text, message):
    with pytest.raises(
        LowerError, match="is a function: native code takes and gives data"
    ) as error:
        program_of(text)
    assert message in str(error.value)


def test_types_defined_elsewhere_are_refused():
    with pytest.raises(LowerError, match="type `Storage` is defined elsewhere"):
        program_of("extern type Storage\ndef @main(%s: Storage) { %s }")


def test_programs_are_as_deep_as_they_like():
    depth = deep(6000)
    body = "".join(f"if (%n == {i}) {{ {i} }} else {{ " for i in range(depth))
    program = program_of(f"def @main(%n: int32) -> int32 {{ {body} %n {'}' * depth} }}", level=0)
    assert len(program["main"].blocks) == 2 * depth + 1
