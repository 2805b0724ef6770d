"""Functions for other compilers are code that exists elsewhere."""

import numpy as np

import relay
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.transform import InferType, MarkCompilerFunctionsAsExtern

HEADER = '#[version = "0.0.5"]\n'
F = 'def @f(%y: int32, Compiler="c", global_symbol="f") -> int32 { add(%y, 1) }'
G = 'def @g(%y: int32, Compiler="d", global_symbol="g") -> int32 { negative(%y) }'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def assert_rewrites(before, after, **options):
    mod = parse(before)
    result = MarkCompilerFunctionsAsExtern(**options)(mod)
    check_well_formed(result)
    assert_structural_equal(result, parse(after))
    run = [relay.create_executor("debug", m).evaluate()(np.int32(3)).numpy() for m in (mod, result)]
    assert run[0] == run[1]


def test_functions_are_marked_and_called_as_code():
    assert_rewrites(
        f"def @main(%x: int32) {{ negative(@f(@f(%x))) }} {F}",
        """
        def @main(%x: int32) { negative(call_lowered(@f, (call_lowered(@f, (%x,)),))) }
        def @f(%y: int32, Extern=1) -> int32 { add(%y, 1) }
        """,
    )


def test_a_filter_takes_those_for_one_compiler():
    assert_rewrites(
        f"def @main(%x: int32) {{ @g(@f(%x)) }} {F} {G}",
        f"""
        def @main(%x: int32) {{ @g(call_lowered(@f, (%x,))) }}
        def @f(%y: int32, Extern=1) -> int32 {{ add(%y, 1) }}
        {G}
        """,
        compiler_filter="c",
    )


def test_a_program_without_such_functions_stays():
    mod = parse("def @main(%x: int32) { @f(%x) } def @f(%x: int32) { %x }")
    after = MarkCompilerFunctionsAsExtern()(mod)
    assert all(after[name] is mod[name] for name in ("main", "f"))
    again = MarkCompilerFunctionsAsExtern()(MarkCompilerFunctionsAsExtern()(parse(F)))
    assert again["f"].attrs == {"Extern": 1}
