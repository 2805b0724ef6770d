"""Functions for other compilers move out of the program."""

import pytest

import relay
from relay.check.wellformed import check_well_formed
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.transform import (
    InferType,
    Inline,
    PartitionGraph,
)
from relay.transform import (
    OutlineCompilerFunctionsWithExistingGlobalSymbols as Outline,
)

HEADER = '#[version = "0.0.5"]\n'
F = 'fn (%y: int32, Compiler="c", global_symbol="f") -> int32 { add(%y, 1) }'
GLOBAL_F = 'def @f(%y: int32, Compiler="c", global_symbol="f") -> int32 { add(%y, 1) }'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def assert_rewrites(before, after, **options):
    result = Outline(**options)(parse(before))
    check_well_formed(result)
    assert_structural_equal(result, parse(after))
    again = Outline(**options)(result)
    assert all(again[name] is function for name, function in result.functions.items())


def assert_stays(text, **options):
    mod = parse(text)
    assert Outline(**options)(mod)["main"] is mod["main"]


def test_a_function_that_is_called_in_place_moves_out():
    assert_rewrites(
        f"def @main(%x: int32) {{ negative({F}(%x)) }}",
        f"def @main(%x: int32) {{ negative(@f(%x)) }} {GLOBAL_F}",
    )


def test_a_function_that_is_bound_by_a_let_moves_out():
    assert_rewrites(
        f"def @main(%x: int32) {{ let %f = {F}; add(%f(%x), %f(2)) }}",
        f"def @main(%x: int32) {{ add(@f(%x), @f(2)) }} {GLOBAL_F}",
    )


def test_functions_that_are_the_same_become_one():
    assert_rewrites(
        f"def @main(%x: int32) {{ {F}({F}(%x)) }}",
        f"def @main(%x: int32) {{ @f(@f(%x)) }} {GLOBAL_F}",
    )


def test_a_name_has_one_function():
    other = F.replace("add(%y, 1)", "%y")
    with pytest.raises(PassError, match="two functions of the name `f`"):
        Outline()(parse(f"def @main(%x: int32) {{ {F}({other}(%x)) }}"))
    with pytest.raises(PassError, match="two functions of the name `f`"):
        Outline()(parse(f"def @main(%x: int32) {{ {F}(%x) }} def @f(%x: int32) {{ %x }}"))


def test_other_functions_stay():
    assert_stays("def @main(%x: int32) { fn (%y: int32) { add(%y, 1) }(%x) }")
    assert_stays('def @main(%x: int32) { fn (%y: int32, Compiler="c") { add(%y, 1) }(%x) }')
    assert_stays(f"def @main(%x: int32) {{ {F}(%x) }}", compiler_filter="d")
    remembers = 'fn (%y: int32, Compiler="c", global_symbol="f") { add(%y, %x) }'
    assert_stays(f"def @main(%x: int32) {{ {remembers}(1) }}")


def test_a_filter_takes_those_for_one_compiler():
    other = F.replace('"c"', '"d"').replace('"f"', '"g"')
    assert_rewrites(
        f"def @main(%x: int32) {{ {F}({other}(%x)) }}",
        f"def @main(%x: int32) {{ @f({other}(%x)) }} {GLOBAL_F}",
        compiler_filter="c",
    )


def test_symbolic_sizes_are_type_parameters():
    t = "Tensor[(n), float32]"
    f = f'fn (%y: {t}, Compiler="c", global_symbol="f") -> {t} {{ exp(%y) }}'
    assert_rewrites(
        f"def @main[n](%x: {t}) -> {t} {{ {f}(%x) }}",
        f"""
        def @main[n](%x: {t}) -> {t} {{ @f(%x) }}
        def @f[n](%y: {t}, Compiler="c", global_symbol="f") -> {t} {{ exp(%y) }}
        """,
    )


def test_it_undoes_inlining_after_partitioning():
    mod = parse(
        """
        def @main(%x: int32) {
          annotation.compiler_end(
            negative(annotation.compiler_begin(%x, compiler="c")), compiler="c")
        }
        """
    )
    partitioned = PartitionGraph()(mod)
    inlined = Inline()(partitioned)
    assert len(inlined.functions) == 1
    assert_structural_equal(Outline()(inlined), partitioned)
