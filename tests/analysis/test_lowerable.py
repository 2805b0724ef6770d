"""What stands in the way of lowering a program is said precisely."""

import pytest

import relay
from relay.analysis import check_lowerable, lowerable_faults
from relay.errors import IllFormed
from relay.transform import InferType

HEADER = '#[version = "0.0.5"]\n'
KERNEL = "fn (%p: int32, Primitive=1) -> int32 { negative(%p) }"


def faults(text):
    return [fault.message for fault in lowerable_faults(InferType()(relay.parse(HEADER + text)))]


def test_kernels_calls_branches_data_and_closures_are_lowered():
    assert not faults(
        f"""
        type List[A] {{ Cons(A, List[A]), Nil }}
        def @apply(%f: fn (int32) -> int32, %x: int32) -> int32 {{ let %y = %f(%x); %y }}
        def @negate(%x: int32) -> int32 {{ let %y = {KERNEL}(%x); %y }}
        def @make(%x: int32, Closure=1) -> fn (int32) -> int32 {{
          fn (%y: int32) -> int32 {{ let %z = {KERNEL}(%x); %z }}
        }}
        def @main(%x: int32, %c: bool, %l: List[int32]) {{
          let %f = @make(%x);
          let %a = @apply(%f, %x);
          let %b = @apply(@negate, %a);
          let %r = ref(%b);
          let %w = ref_write(%r, %a);
          let %d = if (%c) {{ let %e = ref_read(%r); %e }} else {{ %b }};
          let %g = match (%l) {{ Cons(%h, _) => %h, Nil => %d }};
          let %n = Nil[int32];
          let %m = Cons(%g, %n);
          let %t = (%m, %d);
          %t
        }}
        """
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @f() { () }", "the module has no function `@main`"),
        ("def @main[A](%x: A) { %x }", "type variable `A` in `@main` could be any type"),
        (
            "def @main(%x: int32) { let %y = negative(%x); %y }",
            "operator `negative` is called outside of a primitive function in `@main`",
        ),
        ("def @main() { 1 }", "`@main` is not in A-normal form"),
        (
            "def @main(%x: int32) { let %f = fn () { %x }; %f }",
            "there is a function in `@main` that is not one of the module",
        ),
        (
            f"def @main() {{ let %f = {KERNEL}; %f }}",
            "there is a function in `@main` that is not one of the module",
        ),
        (
            "type Box { Box(int32) } def @main() { let %t = (Box,); %t }",
            "constructor `Box` is a value in `@main`",
        ),
        (
            "def @f(%g: fn (int32) -> int32) { %g } def @main() { let %x = @f(negative); %x }",
            "operator `negative` is a value in `@main`",
        ),
        (
            "def @f() { 1 } def @main() { let %x = @f(); %x }",
            "`@f` is not in A-normal form",
        ),
        (
            'def @f(Compiler="theirs") { 1 } def @main() { let %x = @f(); %x }',
            "`@f` is marked `Compiler`: others know what it is",
        ),
    ],
)
def test_what_is_missing_is_said(text, message):
    assert message in faults(text)


def test_what_main_does_not_reach_does_not_matter():
    assert not faults("def @f[A](%x: A) { exp(1f) } def @main(%x: int32) { %x }")


def test_a_program_without_types_is_not_lowered():
    mod = relay.IRModule.from_expr(relay.Function((), relay.Tuple(())))
    with pytest.raises(IllFormed, match="`@main` has no type yet"):
        check_lowerable(mod)
