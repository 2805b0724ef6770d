"""The loop: blocks, calls, data, closures, cells, errors."""

import threading

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, RelayError
from relay.interpreter.values import UNIT, ConstructorValue, RefValue, TupleValue
from relay.vm.machine import DEPTH
from tests.support.interrupts import interrupt
from tests.vm.programs import DEEP, LIST, SCALE, SCALE_CODE, SUM


def cons_list(numbers, ty="List"):
    header = relay.GlobalTypeVar(ty)
    element = relay.TypeVar("a")
    nil = relay.Constructor("Nil", (), header)
    cons = relay.Constructor("Cons", (element, header(element)), header)
    relay.TypeData(header, (element,), (cons, nil))
    made = ConstructorValue(nil.tag, (), nil)
    for number in reversed(numbers):
        made = ConstructorValue(cons.tag, (relay.nd.array(np.int32(number)), made), cons)
    return made


def as_list(value):
    found = []
    while value.fields:
        found.append(value.fields[0].item())
        value = value.fields[1]
    return found


def test_a_loop_over_a_list_takes_no_stack(machine):
    vm = machine(SUM, depth=0)
    assert vm.invoke("main", cons_list(range(1000))).item() == 499500
    assert vm.invoke("sum", 5, cons_list([])).item() == 5


def test_recursion_goes_far_deeper_than_that_of_python(machine):
    assert machine(DEEP).run(50_000).item() == 50_000


def test_recursion_has_an_end_where_nobody_says_so(machine):
    assert machine(DEEP)._machine.depth == DEPTH


@pytest.mark.full
def test_a_million_calls_wait_for_another(machine):
    assert machine(DEEP).run(1_000_000).item() == 1_000_000


def test_depth_can_be_limited(machine):
    assert machine(DEEP, depth=100).run(100).item() == 100
    with pytest.raises(EvaluationError, match="`@main` recurses deeper than its stack") as error:
        machine(DEEP, depth=100).run(101)
    assert "--> deep.relay:1:1" in str(error.value)
    assert "a stack of 100 calls" in str(error.value)
    assert machine(DEEP, depth=None).run(1000).item() == 1000
    with pytest.raises(RelayError, match="`depth` is a number of calls"):
        machine(DEEP, depth=-1)


def test_kernels_take_scalars_and_sizes(machine):
    vm = machine(SCALE, SCALE_CODE)
    for length in (0, 1, 17):
        x = np.arange(length, dtype="float32")
        scaled, count = vm.run(x, 2.5)
        np.testing.assert_array_equal(scaled.numpy(), x * np.float32(2.5))
        assert count.item() == length


def test_blocks_have_parameters_that_change_all_at_once(machine):
    vm = machine(
        """
        function @main("n" = %0: int32) -> (int32, int32) {
          %1: int32 = 0
          %2: int32 = 1
          jump 1(%0, %1, %2)
        block 1(%3: int32, %4: int32, %5: int32):
          %6: int32 = 1
          %7: bool = lt %3, %6
          branch %7 ? 3 : 2
        block 2:
          %8: int32 = sub %3, %6
          jump 1(%8, %5, %4)
        block 3:
          return (%4, %5)
        }
        """
    )
    assert [one.item() for one in vm.run(3)] == [1, 0]
    assert [one.item() for one in vm.run(4)] == [0, 1]


def test_closures_remember(machine):
    vm = machine(
        """
        function @add("a" = %0: int32, "b" = %1: int32) -> int32 {
          %2: int32 = add %0, %1
          return %2
        }
        function @twice("f" = %0: fn(int32) -> int32, "x" = %1: int32) -> int32 {
          (%2: int32) = call %0(%1)
          tail call %0(%2)
        }
        function @main("a" = %0: int32) -> (int32, fn(int32) -> int32) {
          %1: fn(int32) -> int32 = closure @add(%0)
          (%2: int32) = call @twice(%1, %0)
          return (%2, %1)
        }
        """
    )
    result, function = vm.run(5)
    assert result.item() == 15
    assert function(37).item() == 42
    assert vm.invoke("twice", function, 1).item() == 11
    with pytest.raises(EvaluationError, match="only those it returned itself"):
        vm.invoke("twice", lambda x: x, 1)


COUNTER = """
function @main("cell" = %0: ref(int32)) -> (int32, ref(int32), ref(int32)) {
  (%1: int32) = read %0
  %2: int32 = 1
  %3: int32 = add %1, %2
  write %0 (%3)
  %4: ref(int32) = reference (%1)
  return (%1, %0, %4)
}
"""


def test_cells_are_those_of_the_caller(machine):
    cell = RefValue(relay.nd.array(np.int32(7)))
    before, same, other = machine(COUNTER).run(cell)
    assert before.item() == 7
    assert cell.value.item() == 8
    assert same is cell
    assert other is not cell and other.value.item() == 7


def test_cells_are_written_back_also_by_a_run_that_fails(machine):
    vm = machine(
        """
        function @main("cell" = %0: ref(int32)) -> int32 {
          %1: int32 = 9
          write %0 (%1)
          fail "no clause fits" where "a.relay:3:4"
        }
        """
    )
    cell = RefValue(relay.nd.array(np.int32(7)))
    with pytest.raises(EvaluationError, match=r"no clause fits\n  --> a\.relay:3:4"):
        vm.run(cell)
    assert cell.value.item() == 9


def test_cells_may_form_cycles(machine):
    vm = machine(
        """
        data Node { Node(int32, ref(Node)); End }
        function @main() -> Node {
          %0: Node = data End()
          %1: ref(Node) = reference (%0)
          %2: int32 = 5
          %3: Node = data Node(%2, %1)
          write %1 (%3)
          return %3
        }
        """
    )
    node = vm.run()
    assert node.constructor.name_hint == "Node"
    assert node.fields[1].value is node
    assert vm.run() is not node


def test_data_with_tuples_inside_is_nested_as_it_was(machine):
    vm = machine(
        """
        data Pair { Pair((int32, (float32[?],)), bool) }
        function @main("p" = %0: Pair) -> (Pair, float32[?]) {
          %1: int32 = field %0 Pair.0
          %2: float32[?] = field %0 Pair.1
          %3: bool = field %0 Pair.2
          %4: int32 = neg %1
          %5: Pair = data Pair(%4, %2, %3)
          return (%5, %2)
        }
        """
    )
    header = relay.GlobalTypeVar("Pair")
    constructor = relay.Constructor("Pair", (), header)
    relay.TypeData(header, (), (constructor,))
    x = relay.nd.array(np.ones(3, "float32"))
    inner = TupleValue((relay.nd.array(np.int32(4)), TupleValue((x,))))
    given = ConstructorValue(constructor.tag, (inner, relay.nd.array(np.True_)), constructor)
    made, tensor = vm.run(given)
    assert repr(made) == "Pair((-4, ([1., 1., 1.],)), True)"
    assert made.is_built_by(constructor) and made.tag == constructor.tag
    assert np.shares_memory(tensor.array, x.array)


def test_what_is_shared_stays_shared(machine):
    """A graph of 60 nodes that would be a tree of 2**60."""
    vm = machine(
        """
        data Tree { Two(Tree, Tree); Leaf }
        function @grow("n" = %0: int32, "t" = %1: Tree) -> Tree {
          %2: int32 = 0
          %3: bool = eq %0, %2
          branch %3 ? 1 : 2
        block 1:
          return %1
        block 2:
          %4: Tree = data Two(%1, %1)
          %5: int32 = 1
          %6: int32 = sub %0, %5
          tail call @grow(%6, %4)
        }
        function @main("n" = %0: int32) -> Tree {
          %1: Tree = data Leaf()
          tail call @grow(%0, %1)
        }
        """
    )
    tree = vm.run(60)
    assert tree.fields[0] is tree.fields[1]
    assert vm.invoke("grow", 1, tree).fields[0].fields[0] is not None


def test_long_lists_come_in_and_go_out(machine):
    vm = machine(
        LIST
        + """
        function @reverse("xs" = %0: List[int32], "done" = %1: List[int32]) -> List[int32] {
          switch %0 { Nil: 1, else: 2 }
        block 1:
          return %1
        block 2:
          %2: int32 = field %0 Cons.0
          %3: List[int32] = field %0 Cons.1
          %4: List[int32] = data Cons(%2, %1)
          tail call @reverse(%3, %4)
        }
        """
    )
    numbers = list(range(3_000))
    assert as_list(vm.invoke("reverse", cons_list(numbers), cons_list([]))) == numbers[::-1]


def test_views_and_elements(machine):
    vm = machine(
        """
        function @main("x" = %0: float16[?, 2], "n" = %1: int64) -> (float16[?], float16, int64) {
          %2: float16[?] = view %0 [%1]
          %3: float16 = element %0[1]
          %4: int64 = size %0[1]
          require %4 = %1 "the second axis is of another length" where "v.relay:9:9"
          return (%2, %3, %4)
        }
        """
    )
    x = np.array([[1.5, 2.5], [3.5, 4.5]], "float16")
    first, element, size = vm.run(x, 2)
    assert first.numpy().tolist() == [1.5, 2.5] and first.dtype == "float16"
    assert element.item() == 2.5 and element.dtype == "float16"
    assert size.item() == 2
    with pytest.raises(EvaluationError) as error:
        vm.run(x, 3)
    text = str(error.value)
    assert "the second axis is of another length" in text and "--> v.relay:9:9" in text
    assert "expected: 3" in text and "found:    2" in text
    with pytest.raises(EvaluationError, match="4 elements cannot be seen as a tensor of shape"):
        vm.run(x, 5)
    with pytest.raises(EvaluationError, match="the result would have -1 elements"):
        vm.run(x, -1)


ENDLESS = """
function @main("n" = %0: int32) -> int32 {
  jump 1
block 1:
  jump 1
}
"""


def test_an_endless_loop_can_be_interrupted(machine):
    vm = machine(ENDLESS)
    interrupt(lambda: vm.run(1))


def test_runs_in_several_threads_do_not_meet(machine):
    vm = machine(SCALE, SCALE_CODE)
    wrong = []

    def work(number):
        x = np.full(100, number, "float32")
        for _ in range(100):
            scaled, _ = vm.run(x, 2)
            if not np.array_equal(scaled.numpy(), 2 * x):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "no argument for `x`, `c`"),
        ((1, 2, 3), "too many arguments"),
        ((np.ones(3, "float64"), 1), "argument `x` of `@main`: it is another tensor"),
        ((np.ones((3, 1), "float32"), 1), "it is another tensor"),
        ((np.ones(3, "float32"), "a"), "it is no tensor"),
        ((np.ones(3, "float32"), (1, 2)), "it is another tensor"),
        ((np.ones(3, "float32"), UNIT), "it is no tensor"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(machine, args, message):
    with pytest.raises(EvaluationError) as error:
        machine(SCALE, SCALE_CODE).run(*args)
    assert message in str(error.value)


def test_data_of_another_type_is_refused(machine):
    vm = machine(SUM)
    with pytest.raises(EvaluationError, match="it is a value of another type") as error:
        vm.run(cons_list([1], "Other"))
    assert "List[int32]" in str(error.value)
    with pytest.raises(EvaluationError, match="it is a value of another type"):
        vm.run(5)


OPTION = """#[version = "0.0.5"]
type Option[A] { Some(A), None }
type List[A] { Cons(A, List[A]), Nil }
def @main(%l: List[(int32, Option[int32])], %n: int32) -> int32 {
  match (%l) {
    Nil => %n,
    Cons(%head, %rest) => {
      let %more = match (%head.1) { Some(%k) => %k, None => 0 };
      @main(%rest, add(%n, multiply(%head.0, %more)))
    }
  }
}
"""


def test_lists_options_and_instances_are_read_as_native_programs_read_them(machine):
    vm = machine(SUM, depth=0)
    assert vm.invoke("main", list(range(1000))).item() == 499500
    assert vm.invoke("sum", 5, []).item() == 5
    exe = relay.compile(relay.parse(OPTION))
    given = [(2, 3), (4, None), (5, 6)]
    made = relay.vm.VirtualMachine(relay.vm.compile(relay.parse(OPTION)))
    assert made.invoke("main", given, 1).item() == exe(given, 1).item() == 37
    with pytest.raises(EvaluationError, match="it is a value of another type"):
        vm.invoke("main", {"a": 1})
