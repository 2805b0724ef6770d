"""Statements as native code do what they do one after the other, on any number of threads."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.native.runtime import Context
from relay.target.llvm import abi
from relay.target.llvm.compile import assembly, compile_module
from relay.target.llvm.jit import load
from relay.target.target import Target
from relay.te.expr import Expr, Var
from relay.te.loops import Allocate, Buffer, Builder, For, Kind, MemoryScope, Prefetch, Store, block
from relay.te.lower import LoweredLoops as Loops
from tests.support.interrupts import interrupt
from tests.support.kernels import Batch
from tests.target.llvm.kernels import (
    LEVEL_NAMES,
    LEVELS,
    WIDEST,
    Case,
    assert_agree,
    buffer,
    case,
    code_of,
    function_of,
    loops_of,
    numbers,
)
from tests.target.llvm.test_expressions import lanes_over

N = 21
X, Y = buffer("x", (N,)), buffer("y", (N,))
ARRAY = numbers((N,))
TABLE, RESULT = buffer("table", (6, N)), buffer("result", (6, N))
ROWS = numbers((6, N))


def elements(body: Callable[[Builder, Expr], None], lanes: int = 8) -> Case:
    return case({X: ARRAY}, [Y], lanes_over(N, lanes, body))


def one_by_one(body: Callable[[Builder, Expr], None]) -> Case:
    def write(b: Builder) -> None:
        with b.loop(N) as i:
            body(b, i)

    return case({X: ARRAY}, [Y], write)


def names() -> dict[str, Case]:
    def let(b: Builder, at: Expr) -> None:
        square = b.let(X[at] * X[at], "square")
        place = b.let((at * 5) % N, "place")
        b.store(Y, at, square + X[place] * te.cast(place, "float32"))

    def let_of_all(b: Builder, at: Expr) -> None:
        first = b.let(X[3] + 1, "first")
        b.store(Y, at, first * X[at] + first)

    def unrolled(value: Callable[[Expr], Expr], kind: Kind = Kind.UNROLLED) -> Case:
        """A name that means something else in every copy."""

        def write(b: Builder) -> None:
            with b.loop(5) as o, b.loop(4, "u", kind) as i:
                t = b.let(value(o * 4 + i), "t")
                b.store(Y, o * 4 + i, te.cast(t + 1, "float32"))
            b.store(Y, 20, 0.0)

        return case({X: ARRAY}, [Y], write)

    def copies_in_lanes(b: Builder) -> None:
        with b.loop(2, "u", Kind.UNROLLED) as u, b.loop(8, "l", Kind.VECTOR) as lane:
            # the same for all lanes in the first copy only
            t = b.let(te.cast(u * lane * 2, "float32") + X[u], "t")
            b.store(Y, u * 8 + lane, t + 1)
        with b.loop(5) as i:
            b.store(Y, 16 + i, 0.0)

    return {
        "a name in lanes": elements(let),
        "a name one by one": one_by_one(let),
        "a name for all lanes": elements(let_of_all),
        "a name in copies, for numbers": unrolled(lambda i: te.cast(X[i], "int64")),
        "a name in copies, for positions": unrolled(lambda i: (i * 7) % N),
        "a name in copies, for positions in turns": unrolled(lambda i: (i * 7) % N, Kind.SERIAL),
        "a name in copies of lanes": case({X: ARRAY}, [Y], copies_in_lanes),
    }


def branches() -> dict[str, Case]:
    def masked(b: Builder, at: Expr) -> None:
        with b.if_(X[at] < 0.0):
            b.store(Y, at, -X[at])
        with b.else_():
            b.store(Y, at, X[at] * 3)

    def nested(b: Builder, at: Expr) -> None:
        b.store(Y, at, 0.0)
        with b.if_(at >= 3), b.if_(X[at - 3] < 5.0):
            b.store(Y, at, X[at - 3])
            with b.if_(X[at] < 0.0):
                b.store(Y, at, Y[at] + 1)

    places = buffer("places", (N,), "int64")

    def guarding(b: Builder, at: Expr) -> None:
        """The second condition may be asked only where the first holds."""
        b.store(Y, at, 0.0)
        with b.if_(places[at] < N), b.if_(X[places[at]] < 5.0):
            b.store(Y, at, X[at] + 1)

    def guarding_one_by_one(b: Builder) -> None:
        with b.loop(N) as i:
            guarding(b, i)

    def by_what_all_share(b: Builder) -> None:
        with b.loop(6) as i:

            def body(b: Builder, at: Expr) -> None:
                b.store(RESULT, (i, at), 0.0)
                with b.if_(places[i] < N):
                    with b.if_(X[places[i]] < 5.0):
                        b.store(RESULT, (i, at), X[at])
                    with b.else_():
                        b.store(RESULT, (i, at), X[0])

            lanes_over(N, 8, body)(b)

    given = {X: ARRAY, places: numbers((N,), "int64", 0, N) * np.array([1, 1, 1000] * 7)}
    return {
        "both sides, in lanes": elements(masked),
        "both sides, one by one": one_by_one(masked),
        "a condition in a condition": elements(nested),
        "a condition that guards another, in lanes": case(given, [Y], lanes_over(N, 8, guarding)),
        "a condition that guards another, one by one": case(given, [Y], guarding_one_by_one),
        "a condition for all lanes, under a mask": case(given, [RESULT], by_what_all_share),
    }


def memory() -> dict[str, Case]:
    """What was read is read again once it may have changed."""

    def after_a_store(b: Builder) -> None:
        v = b.variable("float32", 1.0)
        first = b.let(v[()] + 1)
        b.store(v, (), X[0])
        second = b.let(v[()] + 1)
        b.store(Y, 0, first * 100 + second)

    def after_a_loop(b: Builder) -> None:
        v = b.variable("float32", 1.0)
        before = b.let(v[()] + 1)
        with b.loop(N) as i:
            b.store(v, (), v[()] + X[i])
        b.store(Y, 0, before * 100 + (v[()] + 1))

    def after_a_branch(b: Builder) -> None:
        v = b.variable("float32", 1.0)
        with b.loop(N) as i:
            before = b.let(v[()] + 1)
            with b.if_(X[i] < 0.0):
                b.store(v, (), v[()] - X[i])
            with b.else_():
                b.store(v, (), v[()] * 0.5)
            b.store(Y, i, before + (v[()] + 1))

    def after_threads(b: Builder) -> None:
        held = b.local("float32", (4,), "held")
        with b.loop(4) as i:
            b.store(held, i, 1.0)
        before = b.let(held[2] + 1)
        with b.loop(4, kind=Kind.PARALLEL) as i:
            b.store(held, i, X[i])
        b.store(Y, 0, before + (held[2] + 1))

    def through_a_position(b: Builder) -> None:
        p = b.variable("int64", 3)
        before = b.let(X[p[()]])
        b.store(p, (), 5)
        b.store(Y, 0, before * 100 + X[p[()]])

    first_only = (after_a_store, after_a_loop, after_threads, through_a_position)

    def filled(write: Callable[[Builder], None]) -> Callable[[Builder], None]:
        def both(b: Builder) -> None:
            with b.loop(N) as i:
                b.store(Y, i, 0.0)
            write(b)

        return both

    return {
        write.__name__: case({X: ARRAY}, [Y], filled(write) if write in first_only else write)
        for write in (*first_only, after_a_branch)
    }


def loops() -> dict[str, Case]:
    def halving(b: Builder) -> None:
        with b.loop(N) as i:
            v = b.variable("int64", 27 + i)
            steps = b.variable("int64", 0, "steps")
            with b.while_(v[()] > 1):
                odd = te.equal(v[()] % 2, 1)
                b.store(v, (), te.select(odd, v[()] * 3 + 1, v[()] // 2))
                b.store(steps, (), steps[()] + 1)
            b.store(Y, i, te.cast(steps[()], "float32"))

    def never(b: Builder) -> None:
        with b.loop(N) as i:
            b.store(Y, i, 1.0)
            with b.while_(X[i] > 1000.0):
                b.store(Y, i, 2.0)
        with b.loop(0) as i:
            b.store(Y, i, 3.0)

    def triangle(b: Builder) -> None:
        with b.loop(6) as i, b.loop(N) as j:
            b.store(RESULT, (i, j), 0.0)
        with b.loop(6) as i, b.loop(i * 3) as j:
            b.store(RESULT, (i, j), TABLE[i, j])

    return {
        "while": case({X: ARRAY}, [Y], halving),
        "that never run": case({X: ARRAY}, [Y], never),
        "as long as another one says": case({TABLE: ROWS}, [RESULT], triangle),
    }


def threads() -> dict[str, Case]:
    def nested(b: Builder) -> None:
        with b.loop(6, kind=Kind.PARALLEL) as i, b.loop(N, kind=Kind.PARALLEL) as j:
            b.store(RESULT, (i, j), TABLE[i, j] + 1)

    def captured(b: Builder) -> None:
        """Names of every kind, from outside the loop."""
        flag = b.let(X[0] < X[1], "flag")
        half = b.let(X[2] * 0.5, "half")
        wide = b.let(te.cast(X[3], "float64"), "wide")
        place = b.let(te.cast(X[4], "int64") % N, "place")
        byte = b.let(te.cast(X[5], "int8"), "byte")
        with b.loop(N, kind=Kind.PARALLEL) as i:
            value = te.select(flag, half, X[place]) + te.cast(wide, "float32")
            b.store(Y, i, value * X[i] + te.cast(byte, "float32"))

    def workspaces(b: Builder) -> None:
        """Memory of each worker, beside memory of all: too large for the stack."""
        shared = b.local("float32", (3000,), "shared")
        with b.loop(3000) as i:
            b.store(shared, i, X[i % N])
        with b.loop(6, kind=Kind.PARALLEL) as i:
            own = b.local("float32", (5000,), "own")
            more = b.local("float64", (3000,), "more")
            with b.loop(3000) as j:
                b.store(own, j, shared[j] + te.cast(i, "float32"))
                b.store(more, j, te.cast(own[j], "float64") * 2)
            with b.loop(N) as j:
                b.store(RESULT, (i, j), own[j * 100] + te.cast(more[j * 100], "float32"))

    def one_after_the_other(b: Builder) -> None:
        with b.loop(N, kind=Kind.PARALLEL) as i:
            b.store(Y, i, X[i] * 2)
        with b.loop(3) as turn, b.loop(N, kind=Kind.PARALLEL) as i:
            b.store(Y, i, Y[i] + te.cast(turn, "float32"))

    def in_both_directions(b: Builder) -> None:
        with b.loop(6, kind=Kind.ALTERNATING) as i, b.loop(N) as j:
            b.store(RESULT, (i, j), TABLE[i, j] * 3)

    return {
        "in both directions": case({TABLE: ROWS}, [RESULT], in_both_directions),
        "a loop in a loop": case({TABLE: ROWS}, [RESULT], nested),
        "what a loop needs": case({X: ARRAY}, [Y], captured),
        "workspaces": case({X: ARRAY}, [RESULT], workspaces),
        "several loops": case({X: ARRAY}, [Y], one_after_the_other),
    }


ALL = {
    "names": names,
    "branches": branches,
    "memory": memory,
    "loops": loops,
    "threads": threads,
}


def every_case() -> dict[str, Case]:
    return {f"{kind}: {name}": one for kind, make in ALL.items() for name, one in make().items()}


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_statements_do_what_they_do_one_after_the_other(target: Target) -> None:
    assert_agree(every_case(), target)


def test_statements_do_the_same_when_every_index_is_checked() -> None:
    assert_agree(every_case(), WIDEST, checked=True)


# --- sizes that are known when the kernel runs


@pytest.mark.parametrize("size", [0, 1, 7, 16, 37])
def test_sizes_come_with_the_arguments(sized: Batch, size: int) -> None:
    x = numbers((size,))
    (found,) = sized.run(0, [x], threads=3, sizes={"n": size}).results
    np.testing.assert_array_equal(found, x * 2 + size)


@pytest.fixture(scope="module")
def sized() -> Batch:
    n = Var("int64", "n")
    x, y = buffer("x", (n,)), buffer("y", (n,))

    def write(b: Builder) -> None:
        with b.loop((n + 7) // 8, "o", Kind.PARALLEL) as outer, b.loop(8, "l", Kind.VECTOR) as lane:
            at = outer * 8 + lane
            with b.if_(at < n):
                b.store(y, at, x[at] * 2 + te.cast(n, "float32"))

    return Batch([function_of(loops_of([x], [y], write), WIDEST, sizes=[n])], WIDEST)


# --- directions


def test_an_alternating_loop_goes_back_the_way_it_came() -> None:
    def write(b: Builder) -> None:
        with b.loop(N, kind=Kind.ALTERNATING) as i:
            b.store(Y, 0, te.cast(i, "float32"))  # what is left is the last iteration

    batch = Batch([function_of(loops_of([X], [Y], write), WIDEST)], WIDEST)
    found = [batch.run(0, [ARRAY]).results[0][0] for _ in range(4)]
    assert found == [N - 1, 0, N - 1, 0]


# --- interrupts


SERIAL, TURNS = Kind.SERIAL, 1 << 40
NESTS = {
    "one loop": [(TURNS, SERIAL)],
    "the inner one of two": [(2, SERIAL), (TURNS, SERIAL)],
    "a parallel loop": [(TURNS, Kind.PARALLEL)],
    "in a turn of a parallel loop": [(2, Kind.PARALLEL), (TURNS, SERIAL)],
    "an alternating loop": [(TURNS, Kind.ALTERNATING)],
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize("name", NESTS)
def test_a_long_loop_can_be_interrupted(name: str, open_sizes: bool, threads: int) -> None:
    if open_sizes and name == "in a turn of a parallel loop":
        pytest.skip("turns of parallel loops over open sizes are short")
    n = Var("int64", "n")
    kinds = [kind for _, kind in NESTS[name]]

    def write(b: Builder) -> None:
        sizes = [n if open_sizes and size == TURNS else te.index(size) for size, _ in NESTS[name]]
        with contextlib.ExitStack() as loops:
            for size, kind in zip(sizes, kinds, strict=True):
                loops.enter_context(b.loop(size, kind=kind))
            b.store(Y, 0, Y[0] * 0.5 + X[1])

    made = function_of(loops_of([X], [Y], write), WIDEST, sizes=[n] if open_sizes else [])
    batch = Batch([made], WIDEST)

    def run() -> None:
        outcome = batch.run(0, [ARRAY], threads=threads, sizes={"n": TURNS}, shapes=[(N,)])
        assert outcome.status == abi.INTERRUPTED
        raise KeyboardInterrupt

    interrupt(run)


def test_short_loops_ask_nobody() -> None:
    def write(b: Builder) -> None:
        with b.loop(1 << 10, kind=Kind.PARALLEL), b.loop(1 << 10):
            b.store(Y, 0, X[1])

    text = code_of(loops_of([X], [Y], write)).ir
    assert "asking" not in text
    assert "i64 -1024" in text or "sub i64 0, 1024" in text  # ranges are not cut


# --- the checked mode


def checked(write: Callable[[Builder], None]) -> tuple[int, str]:
    loops = loops_of([X], [Y], write)
    batch = Batch([function_of(loops, WIDEST, checked=True, tidied=False)], WIDEST)
    outcome = batch.run(0, [ARRAY], threads=2)
    return outcome.status, outcome.problem


def test_an_index_that_is_out_of_range_ends_a_checked_kernel() -> None:
    def read(b: Builder) -> None:
        with b.loop(N + 1) as i:
            b.store(Y, i % N, X[i])

    assert checked(read) == (1, f"axis 0 of `x`: index {N} of {N}")


def test_so_does_a_store_before_the_beginning() -> None:
    assert checked(lambda b: b.store(Y, te.cast(X[0] * 0, "int64") - 2, 1.0)) == (
        1,
        f"axis 0 of `y`: index -2 of {N}",
    )


def test_lanes_and_threads_are_checked_one_by_one() -> None:
    def write(b: Builder) -> None:
        with b.loop(6, kind=Kind.PARALLEL) as i, b.loop(4, kind=Kind.VECTOR) as lane:
            b.store(Y, i * 4 + lane, 1.0)

    status, problem = checked(write)
    assert status == 1
    assert problem in {f"axis 0 of `y`: index {i} of {N}" for i in (21, 22, 23)}


def test_the_side_that_is_not_chosen_is_not_checked() -> None:
    def write(b: Builder) -> None:
        with b.loop(N) as i:
            b.store(Y, i, te.select(i > 0, X[i - 1], 0.0))

    assert checked(write) == (0, "")


# --- past the caches


def streaming(count: int, offset: int = 0, lanes: int = 16) -> Case:
    x, y = buffer("x", (count,)), buffer("y", (count,))
    outer, lane = Var("int64", "o"), Var("int64", "l")
    at = outer * lanes + lane + offset
    body = For(lane, te.index(lanes), Store(y, (at,), x[at] + 1, streaming=True), Kind.VECTOR)
    loops = For(outer, te.index((count - offset) // lanes), body)
    return Case(Loops((x,), (y,), loops), (numbers((count,)),))


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_whole_vectors_are_stored_past_the_caches(target: Target) -> None:
    lanes = target.vector_bits // 32
    one = streaming(64, 0, lanes)
    text = code_of(one.loops, target).ir
    assert f"align {4 * lanes}, !nontemporal" in text
    assert "vmovntps" in assembly([text], target) or "movntps" in assembly([text], target)
    assert_agree({"aligned": one}, target)


def test_vectors_that_begin_elsewhere_are_stored_as_others() -> None:
    assert "nontemporal" not in code_of(streaming(65, 1).loops).ir
    assert "nontemporal" not in code_of(streaming(60, 0, 12).loops).ir


def test_a_result_that_begins_elsewhere_is_stored_as_others() -> None:
    """The caller's memory may begin anywhere: there are two ways, chosen when the kernel runs."""
    one = streaming(64)
    kernel = function_of(one.loops).steps[0].kernel
    library = load(compile_module([kernel.ir], WIDEST), [kernel.name])
    (x,), made = one.arrays, np.zeros(64 + 16, "float32")
    start = next(i for i in range(16) if (made.ctypes.data + 4 * i) % 64 == 4)
    arguments = (ctypes.c_int64 * 2)(x.ctypes.data, made.ctypes.data + 4 * start)
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    assert call(library.address(kernel.name))(Context(1).address, arguments) == 0
    np.testing.assert_array_equal(made[start : start + 64], x + 1)


# --- hints, and what is refused


def test_a_hint_reads_nothing_and_may_point_anywhere() -> None:
    i, lane = Var("int64", "i"), Var("int64", "l")
    vectors = For(
        lane,
        te.index(7),
        block([Prefetch(X, (i * 7 + lane + 400,)), Store(Y, (i * 7 + lane,), X[i * 7 + lane])]),
        Kind.VECTOR,
    )
    one = Case(Loops((X,), (Y,), For(i, te.index(3), vectors)), (ARRAY,))
    assert "call void @llvm.prefetch.p0(ptr %" in code_of(one.loops).ir
    assert_agree({"lanes": one}, WIDEST)
    assert_agree({"checked": one}, WIDEST, checked=True)


def test_lanes_do_not_store_to_one_element() -> None:
    def write(b: Builder) -> None:
        with b.loop(8, kind=Kind.VECTOR) as lane:
            b.store(Y, 0, X[lane])

    with pytest.raises(RelayError, match="all lanes of a vector loop store to one element of `y`"):
        code_of(loops_of([X], [Y], write))


def test_a_loop_runs_as_often_for_every_lane() -> None:
    def extent(b: Builder) -> None:
        with b.loop(8, kind=Kind.VECTOR) as lane, b.loop(lane) as i:
            b.store(Y, lane, X[i])

    def condition(b: Builder) -> None:
        with b.loop(8, kind=Kind.VECTOR) as lane, b.while_(X[lane] > 0.0):
            b.store(Y, lane, 1.0)

    for write in (extent, condition):
        with pytest.raises(RelayError, match="a loop runs as often for every lane of a vector"):
            code_of(loops_of([X], [Y], write))


def test_memory_of_the_kernel_has_a_size() -> None:
    n = Var("int64", "n")
    held = Buffer("held", (n,), "float32", MemoryScope.WORKSPACE)
    body = Allocate(held, Store(Y, (te.index(0),), X[0]))
    with pytest.raises(RelayError, match="depends on `n`, which is none of its sizes"):
        code_of(Loops((X,), (Y,), body))


def test_memory_that_is_given_is_not_made() -> None:
    body = Allocate(buffer("given", (3,)), Store(Y, (te.index(0),), X[0]))
    with pytest.raises(RelayError, match="buffer `given` is given to the kernel, not made in it"):
        code_of(Loops((X,), (Y,), body))


def test_a_vector_loop_has_a_number_of_lanes() -> None:
    n = Var("int64", "n")

    def write(b: Builder) -> None:
        with b.loop(n, kind=Kind.VECTOR) as lane:
            b.store(Y, lane, X[lane])

    with pytest.raises(RelayError, match="vector loop `i` needs a constant extent"):
        code_of(loops_of([X], [Y], write), sizes=[n])
