"""Kernels made by another process are those this one would make."""

import pytest

import relay
from relay.cache.worker import KernelWorker, make
from relay.lower.kernel import Options
from relay.program.primitives import Primitive
from relay.target.target import Target

ADD = relay.transform.InferType()(
    relay.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32], Primitive=1) { %x + %y }"
    )
)["main"]


@pytest.mark.parametrize("name", ["n", "batch.size.0", "0"])
def test_sizes_named_by_the_program_around_a_function_are_known_to_another_process(name):
    n = relay.ShapeVar(name)
    ty = relay.TensorType(((n + 3) // 4, n, n), "float32")
    x, y = relay.var("x", ty), relay.var("y", ty)
    main = relay.Function([x, y], x + y, None, [n]).with_attr("Primitive", 1)
    named = relay.transform.InferType()(relay.IRModule.from_expr(main))["main"]
    named = relay.tree.replace(named, type_params=())
    worker = KernelWorker.start()
    try:
        assert worker.ready()
        wanted = Primitive(named, (False, False), dynamic=True)
        made = worker.make(wanted, named.astext(), Target.host(), Options())
        assert made == make(wanted, Target.host(), Options())
    finally:
        worker.stop()


def test_a_process_that_cannot_leaves_the_error_to_the_one_that_asks():
    wanted = Primitive(ADD, (False, False))
    given = Target.host(), Options()
    worker = KernelWorker.start()
    try:
        assert worker.ready()
        assert worker.make(wanted, "nonsense", *given) is None
        assert worker.make(wanted, ADD.astext(), *given) == make(wanted, *given)
    finally:
        worker.stop()
    assert worker.make(wanted, ADD.astext(), *given) is None
