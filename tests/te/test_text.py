"""Expressions and loops as text."""

from __future__ import annotations

from relay import te
from relay.te.loops import If, Kind, Prefetch, Statement, Store


def test_an_expression_stands_on_one_line_with_every_bracket() -> None:
    x = te.placeholder((4,), "float32", "x")
    y = te.compute((4,), lambda i: te.select(i < 2, x[i] * 2.0, -x[i]))
    assert repr(y.op.bodies[0]) == "((x[i] * 2.0:float32) if (i < 2) else -(x[i]))"


def test_what_is_short_is_written_out_each_time() -> None:
    x = te.placeholder((4,), "int32", "x")
    y = te.compute((4,), lambda i: (x[i] + x[i]) * (x[i] + x[i]))
    assert "where" not in repr(y.op.bodies[0])


def test_what_is_long_and_used_again_has_a_name() -> None:
    power: te.Expr = te.Var("int64", "x")
    for _ in range(60):
        power = power * power
    text = repr(power)
    assert " where t0 = " in text
    assert len(text) < 20_000


def test_every_kind_of_expression() -> None:
    x, k = te.placeholder((4,), "float32", "x"), te.axis(4)
    w = te.placeholder((4,), "int32", "w")
    i = te.Var("int64", "i")
    texts = {
        te.cast(w[i], "float32"): "float32(w[i])",
        te.bitcast(w[i], "float32"): "bits_float32(w[i])",
        te.call("fma", x[i], x[i], x[i]): "fma(x[i], x[i], x[i])",
        te.truncdiv(w[i], 3): "truncdiv(w[i], 3:int32)",
        te.absolute(w[i]): "abs(w[i])",
        ~(i < 3) & te.equal(i, 1): "(~((i < 3)) & (i == 1))",
        te.sum(x[k], k): "sum(x[k] for k < 4)",
        te.argmax(x[k], k, k)[1]: "argmax(x[k], k for k < 4)",
        te.const(True, "bool"): "True",
        te.const(1.5, "float64"): "1.5:float64",
    }
    assert {repr(expr) for expr in texts} == set(texts.values())


def test_loops_are_indented_lines() -> None:
    out = te.Buffer("out", (te.index(4),), "int32")
    b = te.Builder()
    with b.loop(4, kind=Kind.VECTOR) as i:
        b.store(out, i, 0)
    with b.while_(out[0] < 3):
        b.store(out, 0, out[0] + 1)
    b._add(Prefetch(out, (te.index(2),)))
    assert repr(b.finish()) == (
        "vector for i in 4:\n"
        "  out[i] = 0:int32\n"
        "while (out[0] < 3:int32):\n"
        "  out[0] = (out[0] + 1:int32)\n"
        "prefetch out[2]"
    )


def test_loops_of_one_name_inside_each_other_have_numbers() -> None:
    out = te.Buffer("out", (te.index(4), te.index(4)), "int32")
    b = te.Builder()
    with b.loop(4) as i, b.loop(i + 1) as j:
        b.store(out, (i, j), 0)
    with b.loop(4) as i:
        b.store(out, (i, i), 1)
    assert repr(b.finish()) == (
        "for i in 4:\n"
        "  for i1 in (i + 1):\n"
        "    out[i, i1] = 0:int32\n"
        "for i in 4:\n"
        "  out[i, i] = 1:int32"
    )


def test_deep_nests_need_no_stack() -> None:
    out = te.Buffer("out", (), "int32")
    statement: Statement = Store(out, (), te.const(1, "int32"))
    for _ in range(5000):
        statement = If(out[()] < 3, statement)
    assert len(repr(statement).splitlines()) == 5001
