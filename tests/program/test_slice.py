"""Code cut down to what is needed."""

from relay.program.program import Program
from relay.program.slice import needed_for, prune
from relay.program.text import parse, to_text

HEAD = """\
relay program 1
kernel @double(float32[2]) -> (float32[2])
kernel @both(float32[2], float32[2]) -> (float32[2], float32[2])
constant "a": float32[2]
constant "b": float32[2]
constant "c": float32[2]
constant "packed_0": float32[2] = prepare.0
constant "packed_1": float32[2] = prepare.1
"""
PREPARE = """\
function @prepare() {
  %0: float32[2] = constant "a"
  %1: float32[2] = constant "b"
  %2: float32[2] = alloc
  invoke @double(%0) -> (%2)
  %3: float32[2] = constant "c"
  %4: float32[2] = view %2
  %5: float32[2] = alloc
  %6: float32[2] = alloc
  invoke @both(%4, %1) -> (%5, %6)
  %7: float32[2] = alloc
  invoke @double(%3) -> (%7)
  return (%5, %7)
}
"""


def text(function):
    return to_text(Program((), (), (function,))).partition("\n\n")[2]


def test_what_a_weight_touches_runs_again_with_what_that_needs():
    program = parse(HEAD + PREPARE)
    cut, names = needed_for(program, {"b"})
    assert names == ["packed_0"]
    assert [type(i).__name__ for i in cut.straight_line] == [
        "LoadConstant",
        "LoadConstant",
        "AllocTensor",
        "InvokeKernel",
        "ViewTensor",
        "AllocTensor",
        "AllocTensor",
        "InvokeKernel",
        "Return",
    ]
    assert needed_for(program, {"c"})[1] == ["packed_1"]
    assert needed_for(program, {"a", "c"})[1] == ["packed_0", "packed_1"]
    assert needed_for(program, ())[1] == []


def test_what_no_result_needs_is_left_out():
    program = parse(HEAD + PREPARE.replace("return (%5, %7)", "return (%7, %5)"))
    assert text(prune(program["prepare"])) == text(program["prepare"])
    shorter = parse(HEAD + PREPARE.replace("return (%5, %7)", "return (%7,)"))
    assert (
        text(prune(shorter["prepare"]))
        == """\
function @prepare() {
  %0: float32[2] = constant "c"
  %1: float32[2] = alloc
  invoke @double(%0) -> (%1)
  return (%1,)
}
"""
    )
