"""Expressions and loops as text."""

from __future__ import annotations

from relay import te


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
