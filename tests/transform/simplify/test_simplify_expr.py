"""All rules together, on programs of every form."""

import numpy as np
import pytest

import relay
from relay.testing import count_ops, mobilenet, resnet, transformer
from relay.transform import InferType, PassContext, Sequential, SimplifyExpr, SimplifyInference
from tests.support.sampling import deep
from tests.transform.rewriting import (
    assert_means_the_same,
    assert_rewrites,
    assert_stays,
    assert_types_hold,
)

PASS = SimplifyExpr()


def test_rules_of_several_kinds_meet():
    assert_rewrites(
        PASS,
        "reshape(reshape(add(%n, zeros_like(exp(%n))), newshape=[24]), newshape=[8, 3])",
        "reshape(%n, newshape=[8, 3])",
    )
    assert_rewrites(
        PASS,
        'add(cast(cast(%x, dtype="float64"), dtype="float32"), full_like(%x, 0f))',
        "%x",
    )
    assert_rewrites(PASS, "multiply(add(%x, %x), 0.5f)", "%x")


def test_in_branches_clauses_recursive_functions_and_closures():
    before = "type Chain { Link(Tensor[(2, 3), float32], Chain), End }"
    params = "%l: Chain, %c: bool, %x: Tensor[(2, 3), float32]"
    source = """
        let %f = fn (%y: Tensor[(2, 3), float32], %n: int32) -> Tensor[(2, 3), float32] {{
          if (equal(%n, 0)) {{ {0} }} else {{ %f(multiply(%y, %x), subtract(%n, 1)) }}
        }};
        let %g = fn () {{ {1} }};
        match (%l) {{ Link(%h, _) => {2}, End => if (%c) {{ %f(%x, 2) }} else {{ %g() }} }}
    """
    long = source.format("add(%y, zeros_like(%y))", "power(%x, 2f)", "negative(negative(%h))")
    short = source.format("%y", "multiply(%x, %x)", "%h")
    module = relay.parse(f'#[version = "0.0.5"]\n{before}\ndef @main({params}) {{ {long} }}')
    wanted = relay.parse(f'#[version = "0.0.5"]\n{before}\ndef @main({params}) {{ {short} }}')
    after = PASS(module)
    relay.ir.compare.assert_structural_equal(after["main"], wanted["main"])
    assert PASS(after)["main"] is after["main"]


def test_references_are_written_as_often_and_in_the_same_order():
    assert_stays(
        PASS,
        "let %r = ref(%x); "
        "let %f = fn () { let %_ = ref_write(%r, negative(ref_read(%r))); ref_read(%r) }; "
        "add(%f(), multiply(%f(), %y))",
    )


def test_every_function_of_the_module_is_simplified():
    module = relay.parse(
        """
        #[version = "0.0.5"]
        def @f(%x: Tensor[(2), float32]) { negative(negative(%x)) }
        def @main(%x: Tensor[(2), float32]) { @f(copy(%x)) }
        """
    )
    after = PASS(module)
    assert "negative" not in after.astext() and "copy" not in after.astext()


def test_it_runs_at_every_level():
    module = relay.parse('#[version = "0.0.5"]\ndef @main(%x: float32) { copy(%x) }')
    with PassContext(opt_level=0):
        assert isinstance(Sequential([PASS])(module)["main"].body, relay.Var)


def test_unknown_shapes_come_out_as_they_went_in():
    params = "%x: Tensor[(?, 4), float32]"
    assert_rewrites(PASS, "exp(add(negative(negative(%x)), 0f))", "exp(%x)", params)


def test_deep_programs():
    depth = deep(10_000)
    x = relay.var("x", shape=(2, 3))
    e = x
    for i in range(depth):
        e = relay.reshape(relay.transpose(e), (2, 3) if i % 2 else (3, 2))
    chain = relay.Function([x], e)
    lets, value = [], x
    for i in range(depth):
        name = relay.var(f"v{i}", shape=(2, 3))
        lets.append((name, relay.negative(value)))
        value = name
    body = value
    for name, bound in reversed(lets):
        body = relay.Let(name, bound, body)
    for main in (chain, relay.Function([x], body)):
        after = PASS(relay.IRModule.from_expr(main))
        assert PASS(after)["main"] is after["main"]


@pytest.mark.parametrize(
    "workload",
    [
        lambda: resnet.get_workload(num_layers=18, image_shape=(3, 32, 32)),
        lambda: mobilenet.get_workload(image_shape=(3, 32, 32)),
        lambda: transformer.get_workload(
            num_layers=2, width=16, heads=2, sequence=8, vocabulary=20
        ),
    ],
)
def test_networks_are_not_larger_afterwards(workload):
    module = SimplifyInference()(InferType()(workload()[0]))
    after = PASS(module)
    assert sum(count_ops(after["main"]).values()) <= sum(count_ops(module["main"]).values())
    assert PASS(after)["main"] is after["main"]


def test_what_weights_are_scaled_with_is_computed_from_weights():
    x = relay.var("x", shape=(1, 2, 4, 4))
    scale = relay.const(np.array([2.0, 4.0], "float32").reshape(2, 1, 1))
    shift = relay.const(np.array([1.0, 3.0], "float32").reshape(2, 1, 1))
    weight = relay.const(np.ones((2, 2, 1, 1), "float32"))
    e = relay.nn.conv2d(x, weight)
    for _ in range(2):
        e = relay.multiply(relay.add(e, shift), scale)
    module = relay.IRModule.from_expr(relay.Function([x], e))
    after = PASS(module)
    assert count_ops(after["main"]) == {"nn.conv2d": 1, "multiply": 1, "add": 1}
    assert_means_the_same(after, module)


# --- random expressions over what the rules are about --------------------------------------------


def random_algebra(seed, steps=25):
    """A function of integers, in which everything is exact, and many rules fit."""
    rng = np.random.default_rng(seed)
    dtypes = ("int8", "uint8", "int32")
    params = [relay.var(f"x{i}", shape=(2, 3, 4), dtype=d) for i, d in enumerate(dtypes)]
    made = [(p, (2, 3, 4), d) for p, d in zip(params, dtypes, strict=True)]

    def constant(dtype):
        return relay.const(int(rng.choice([0, 1, 2, 3, 100])), dtype)

    def same(shape, dtype):
        return [e for e, s, d in made if (s, d) == (shape, dtype)]

    def split(e, shape):
        parts = relay.split(e, 2, axis=-1)
        return parts[int(rng.integers(2))], (*shape[:-1], shape[-1] // 2)

    def step(e, shape, dtype):
        other = rng.choice(np.array([None, *same(shape, dtype)], object)[1:])
        size, rank = int(np.prod(shape)), len(shape)
        kind = int(rng.integers(19))
        if kind < 3:
            op = (relay.add, relay.subtract, relay.multiply)[kind]
            sides = [e, constant(dtype)] if rng.random() < 0.7 else [e, other]
            return op(*(sides if rng.random() < 0.7 else sides[::-1])), shape, dtype
        if kind == 3:
            to = str(rng.choice(["int8", "uint8", "int16", "int32", "float32"]))
            back = str(rng.choice(dtypes))
            return relay.cast(relay.cast(e, to), back), shape, back
        if kind == 4:
            low, high = sorted(rng.integers(-300, 300, 2).tolist())
            return relay.clip(e, low, high), shape, dtype
        if kind == 5:
            to = tuple(int(d) for d in rng.permutation(shape))
            return relay.reshape(e, to), to, dtype
        if kind == 6:
            axes = [int(a) for a in rng.permutation(rank)]
            return relay.transpose(e, axes), tuple(shape[a] for a in axes), dtype
        if kind == 7:
            axis = int(rng.integers(rank + 1))
            return relay.expand_dims(e, axis), (*shape[:axis], 1, *shape[axis:]), dtype
        if kind == 8 and 1 in shape and rank > 1:
            axis = shape.index(1)
            return relay.squeeze(e, [axis]), (*shape[:axis], *shape[axis + 1 :]), dtype
        if kind == 9:
            return relay.concatenate([e, other], axis=-1), (*shape[:-1], 2 * shape[-1]), dtype
        if kind == 10 and shape[-1] % 2 == 0:
            return (*split(e, shape), dtype)
        if kind == 11:
            end = int(rng.integers(1, shape[0] + 1))
            begin = int(rng.integers(0, end))
            return relay.strided_slice(e, [begin], [end]), (end - begin, *shape[1:]), dtype
        if kind == 12 and size < 200:
            pads = [[int(rng.integers(2)), int(rng.integers(2))] for _ in shape]
            to = tuple(d + a + b for d, (a, b) in zip(shape, pads, strict=True))
            return relay.nn.pad(e, pads, relay.const(int(rng.integers(2)))), to, dtype
        if kind == 13:
            return relay.add(e, relay.zeros_like(other)), shape, dtype
        if kind == 14:
            return relay.power(e, constant(dtype)), shape, dtype
        if kind == 15:
            return relay.negative(relay.negative(e)), shape, dtype
        if kind == 16:
            return relay.where(relay.const(bool(rng.integers(2))), e, other), shape, dtype
        if kind == 17:
            return relay.nn.relu(e), shape, dtype
        return relay.reverse(e, int(rng.integers(rank))), shape, dtype

    for _ in range(steps):
        made.append(step(*made[int(rng.integers(max(0, len(made) - 4), len(made)))]))
    return relay.Function(params, relay.Tuple([e for e, _, _ in made[-3:]]))


def check_random_algebra(seed):
    module = InferType()(relay.IRModule.from_expr(random_algebra(seed)))
    named = relay.transform.ToANormalForm()(module)
    for before in (module, named):
        after = PASS(before)
        assert PASS(after)["main"] is after["main"]
        assert_types_hold(after)
        assert_means_the_same(after, module, rtol=None, seed=seed)


def test_random_algebra_means_the_same():
    for seed in range(40):
        check_random_algebra(seed)


@pytest.mark.full
def test_much_random_algebra_means_the_same():
    for seed in range(40, 3000):
        check_random_algebra(seed)
