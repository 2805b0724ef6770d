"""What an object file expects from elsewhere."""

import pytest

from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.objects import architecture, undefined_symbols

TEXT = """
declare i32 @one()
declare i32 @two()
@table = external global [4 x i32]
define i32 @f() {
  %x = call i32 @one()
  %y = call i32 @two()
  %z = load i32, ptr @table
  %sum = add i32 %x, %y
  %all = add i32 %sum, %z
  ret i32 %all
}
define i32 @g() {
  %x = call i32 @f()
  ret i32 %x
}
"""


@pytest.mark.parametrize("target", [Target.x86("baseline"), Target.aarch64()], ids=str)
def test_only_what_is_used_and_not_defined_is_undefined(target):
    data = compile_module([TEXT], target, imports=["one", "two", "table"])
    assert undefined_symbols(data) == {"one", "two", "table"}
    assert architecture(data) == target.arch


def test_other_formats_are_not_looked_into():
    target = Target("llvm -mtriple=aarch64-apple-darwin")
    assert undefined_symbols(compile_module([TEXT], target)) == frozenset()
    assert undefined_symbols(b"") == frozenset()
    assert architecture(compile_module([TEXT], target)) is None
