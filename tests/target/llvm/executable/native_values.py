"""Programs that give back what they are given, for types written as text."""

from relay.lower.kernel import TensorSpec
from relay.program.program import (
    Block,
    Constructor,
    DataSpec,
    DataType,
    Fail,
    Function,
    Parameter,
    Program,
    ReferenceSpec,
    ScalarSpec,
    flatten,
    unflatten,
)
from relay.target.llvm.executable.program_function import ProgramFunction
from tests.native.object_programs import library

INT, FLOAT, BOOL = ScalarSpec("int32"), ScalarSpec("float32"), ScalarSpec("bool")
VECTOR = TensorSpec(("?",), "float32")
TREE, INTS, PAIRS = DataSpec("Tree"), DataSpec("List[int32]"), DataSpec("List[(int32, float32[?])]")
TREES, ROSE, MAYBE = DataSpec("List[Rose]"), DataSpec("Rose"), DataSpec("Option[float32[?]]")
CELL, LINKED = ReferenceSpec(ScalarSpec("int64")), DataSpec("Linked")
MIXED = DataSpec("Mixed")
VECTORS, LISTS = DataSpec("List[float32[?]]"), DataSpec("List[List[int32]]")
NOTHINGS = DataSpec("List[()]")
SCALARS = DataSpec("List[(int8, (bool, float64))]")
BOX, NATURAL, EVEN, ODD = map(DataSpec, ("Box", "Natural", "Even", "Odd"))


def list_of(name, element):
    cons = Constructor("Cons", (element, DataSpec(name)))
    return DataType(name, (cons, Constructor("Nil", ())))


TYPES = (
    list_of("List[int32]", INT),
    list_of("List[(int32, float32[?])]", (INT, VECTOR)),
    list_of("List[Rose]", ROSE),
    list_of("List[float32[?]]", VECTOR),
    list_of("List[()]", ()),
    list_of("List[List[int32]]", INTS),
    list_of("List[(int8, (bool, float64))]", (ScalarSpec("int8"), (BOOL, ScalarSpec("float64")))),
    # what looks like the cells of a list from outside
    DataType("Box", (Constructor("Box", (INT, INTS)),)),
    DataType("Natural", (Constructor("Next", (NATURAL,)), Constructor("Zero", ()))),
    DataType("Even", (Constructor("Even", (INT, ODD)),)),
    DataType("Odd", (Constructor("Odd", (FLOAT, EVEN)), Constructor("End", ()))),
    DataType("Tree", (Constructor("Leaf", (VECTOR,)), Constructor("Node", (TREE, TREE)))),
    DataType("Rose", (Constructor("Rose", (FLOAT, TREES)),)),
    DataType("Option[float32[?]]", (Constructor("Some", (VECTOR,)), Constructor("None", ()))),
    DataType("Linked", (Constructor("Link", (ReferenceSpec(LINKED),)), Constructor("End", ()))),
    # object words come first in memory, whatever the order of fields
    DataType("Mixed", (Constructor("Mix", (INT, (BOOL, (VECTOR, FLOAT)), TREE)),)),
)


def function(*params, results=None, name=None, **options):
    """A function with parameters of these types, which it returns; or that is another program."""
    leaves = flatten(params)
    values = unflatten(params, range(len(leaves)))
    if results is None:
        results = params[0] if len(params) == 1 else params
    made = Function(
        "main",
        tuple(Parameter(f"x{i}", value) for i, value in enumerate(values)),
        tuple(leaves),
        (Block((Fail("written by hand"),)),),
        results,
    )
    address = library().address(name or f"echo{len(leaves)}")
    return ProgramFunction(Program((), (), (), TYPES), made, address, threads=1, **options)
