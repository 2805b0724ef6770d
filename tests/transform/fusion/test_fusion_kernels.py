"""Groups become functions; and whatever is fused, the same numbers come out, compiled as well."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay
from relay.check.infer import infer_module
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.transform import FuseOps
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_kernels import Kernels
from tests.target.llvm.kernels import LEVELS_HERE

HEADER = '#[version = "0.0.5"]\n'


def parse(body):
    return relay.parse(f"{HEADER}def @main(%x: Tensor[(4), float32]) {{ {body} }}")


def test_only_what_is_cut_is_in_functions_and_these_say_what_they_are_told():
    mod = parse("let %a = exp(%x); let %b = negative(%a); sort(%b)")
    flow = Dataflow(mod["main"])
    after = Kernels(flow, [1, 1, 2], {1}, {"Pattern": "decay"}).of(mod["main"])
    expected = parse(
        """
        let %b = fn (%p0: Tensor[(4), float32], Primitive=1, Pattern="decay")
            -> Tensor[(4), float32] { negative(exp(%p0)) }(%x);
        sort(%b)
        """
    )
    assert_structural_equal(infer_module(relay.IRModule.from_expr(after)), expected)


def test_where_nothing_is_cut_nothing_changes():
    mod = parse("negative(exp(%x))")
    assert Kernels(Dataflow(mod["main"]), [0, 1], set()).of(mod["main"]) is mod["main"]


# --- graphs of elementwise operators, reductions and anchors -------------------------------------

EXTENTS = (1, 2, 3, 8, 17, 33)
UNARY = (relay.tanh, relay.sigmoid, relay.abs, relay.negative, relay.nn.relu, relay.sqrt)
BINARY = (relay.add, relay.subtract, relay.multiply, relay.maximum, relay.divide)
REDUCTIONS = (relay.sum, relay.mean, relay.max, relay.min)
MOST = 6000  # elements of a tensor


class Graph:
    """Expressions with their shapes, over parameters of a few shapes that fit together."""

    def __init__(self, draw):
        self.draw = draw
        rank = draw(st.integers(1, 3))
        self.frame = tuple(draw(st.sampled_from(EXTENTS)) for _ in range(rank))
        shapes = [self.frame, self.frame[-1:]]
        if rank > 1:
            shapes.append((*self.frame[:-1], 1))
        self.params = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(shapes)]
        self.made = list(zip(self.params, shapes, strict=True))

    def any(self, fits=lambda shape: True):
        """One that fits, rather a new one than an old one."""
        fitting = [one for one in self.made if fits(one[1])]
        back = self.draw(st.integers(0, min(3, len(fitting) - 1)))
        return fitting[-1 - back]

    def add(self, e, shape):
        if np.prod(shape) <= MOST:
            self.made.append((e, tuple(shape)))

    def step(self):
        kind = self.draw(st.sampled_from("uubbbbrrrrkalnst"))
        x, shape = self.any()
        if kind == "u":
            f = self.draw(st.sampled_from(UNARY))
            self.add(f(relay.abs(x)) if f is relay.sqrt else f(x), shape)
        elif kind == "b":
            y, other = self.any(lambda other: _broadcasts(shape, other))
            f = self.draw(st.sampled_from(BINARY))
            y = relay.abs(y) + relay.const(1.0) if f is relay.divide else y
            x, y = (x, y) if f is relay.divide or self.draw(st.booleans()) else (y, x)
            self.add(f(x, y), np.broadcast_shapes(shape, other))
        elif kind == "r" and shape:
            axes = self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
            if self.draw(st.booleans()):
                axes = {len(shape) - 1}
            keep = self.draw(st.sampled_from([True, True, False]))
            f = self.draw(st.sampled_from(REDUCTIONS))
            kept = [1 if a in axes else n for a, n in enumerate(shape) if keep or a not in axes]
            self.add(f(x, axis=sorted(axes), keepdims=keep), kept)
        elif kind == "k" and shape:
            self.add(relay.nn.softmax(x), shape)
        elif kind == "a" and len(shape) == 2:
            weight = relay.const(np.full((5, shape[1]), 0.25, "float32"))
            self.add(relay.nn.dense(x, weight), (shape[0], 5))
        elif kind == "l" and shape:
            scale = relay.const(np.linspace(0.5, 1, shape[-1], dtype="float32"))
            self.add(relay.nn.layer_norm(x, scale, scale, epsilon=0.1), shape)
        elif kind == "n":
            axis = self.draw(st.integers(0, len(shape)))
            self.add(relay.expand_dims(x, axis), (*shape[:axis], 1, *shape[axis:]))
        elif kind == "s" and 1 in shape:
            axis = shape.index(1)
            self.add(relay.squeeze(x, [axis]), (*shape[:axis], *shape[axis + 1 :]))
        elif kind == "t" and len(shape) > 1:
            order = self.draw(st.permutations(range(len(shape))))
            self.add(relay.transpose(x, order), [shape[axis] for axis in order])


def _broadcasts(one, other):
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return len(other) <= 4


@st.composite
def graphs(draw):
    """A module, and what to call it with."""
    graph = Graph(draw)
    for _ in range(draw(st.integers(3, 14))):
        graph.step()
    results = [e for e, _ in graph.made[-1:]]
    if draw(st.integers(0, 3)) == 0:
        results.append(graph.any()[0])
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    rng = np.random.default_rng(draw(st.integers(0, 3)))
    args = [rng.normal(size=p.type_annotation.shape).astype("float32") for p in graph.params]
    return infer_module(relay.IRModule.from_expr(relay.Function(graph.params, body))), args


def evaluate(mod, args):
    found = relay.create_executor("debug", mod).evaluate()(*args)
    return [found.numpy()] if hasattr(found, "numpy") else [one.numpy() for one in found]


def results(exe, args):
    found = exe(*args)
    return list(found) if isinstance(found, tuple | list) else [found]


def check(mod, args, target, **options):
    exe = relay.compile(mod, target=target, **options)
    for mine, expected in zip(results(exe, args), evaluate(mod, args), strict=True):
        scale = max(1e-3, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-4 * scale)


@given(graphs())
def test_fused_graphs_mean_the_same(case):
    mod, args = case
    after = FuseOps(fuse_opt_level=2)(mod)
    check_well_formed(after)
    for mine, expected in zip(evaluate(after, args), evaluate(mod, args), strict=True):
        np.testing.assert_array_equal(mine, expected)


@settings(max_examples=20, deadline=None)
@given(
    graphs(), st.sampled_from(LEVELS_HERE), st.sampled_from([{}, {"threads": 2}, {"checked": True}])
)
def test_compiled_graphs_mean_the_same(case, target, options):
    check(*case, target, **options)


@pytest.mark.full
@settings(max_examples=600, deadline=None)
@given(
    graphs(), st.sampled_from(LEVELS_HERE), st.sampled_from([{}, {"threads": 2}, {"checked": True}])
)
def test_many_compiled_graphs_mean_the_same(case, target, options):
    check(*case, target, **options)
