"""What rules see."""

import numpy as np

import relay
from relay import tree
from relay.nd import Weight
from relay.transform.simplify.rule_window import Window, covers, static_size
from tests.transform.rewriting import parse


def window_of(body, **options):
    main = parse(body, **options)["main"]
    window = Window(main)
    for node in tree.postorder(main):
        if isinstance(node, relay.Expr):
            window.note(node, node)
            window.now[node] = node
    return window, main.body


def test_what_depends_on_constants_alone_is_constant():
    window, body = window_of("(add(1f, 2f), add(%x, 1f), (1f, 2f).0, zeros(shape=[2]))")
    assert [window.is_constant(field) for field in body] == [True, False, True, False]
    window, body = window_of("let %a = exp(1f); let %b = %a; add(%b, 1f)")
    assert window.is_constant(body.body.body)


def test_a_weight_is_constant_but_not_known():
    weight = relay.Constant(Weight("w", np.ones(3, "float32")))
    window = Window(relay.Function([], weight))
    assert window.is_constant(weight) and window.value(weight) is None


def test_random_numbers_are_not_constant():
    key = relay.random.threefry_key(0)
    drawn = relay.random.uniform(key, (2,))
    window = Window(relay.Function([], drawn.astuple()))
    window.note(drawn.astuple(), drawn.astuple())
    assert not window.is_constant(drawn.astuple())


def test_readers_are_counted():
    window, body = window_of("%0 = exp(%x); %1 = tanh(%x); (%0, negative(%0), multiply(%1, %1))")
    assert not window.is_used_once(body[0])
    assert window.is_used_once(body[2].args[0])


def test_effects_are_known():
    params = "%f: fn () -> float32, %x: float32"
    window, body = window_of("(%f(), exp(%x), exp(%f()))", params=params)
    assert [window.is_pure(field) for field in body] == [False, True, False]


def tensor(*shape):
    return relay.TensorType(shape, "float32")


def test_what_stretches_nothing():
    n = relay.ShapeVar("n")
    assert covers(tensor(2, 3), tensor(3)) and covers(tensor(2, 3), tensor(2, 1))
    assert covers(tensor(n, 3), tensor(n, 1)) and covers(tensor(relay.Any()), tensor(1))
    assert not covers(tensor(3), tensor(2, 3)) and not covers(tensor(1, 3), tensor(2, 3))
    assert not covers(tensor(relay.Any()), tensor(relay.Any()))
    assert not covers(tensor(relay.Any()), tensor(3))
    assert not covers(None, tensor()) and not covers(tensor(), None)


def test_types_of_expressions():
    window, body = window_of("(exp(%x), %t, reshape(%n, newshape=[-1]))")
    assert [window.shape(field) for field in body] == [(2, 3), (), (24,)]
    assert window.dtype(body[0]) == "float32" and window.dtype(body) == ""
    assert window.tensor(body) is None and static_size(window.tensor(body[0])) == 6
    window, body = window_of("exp(%x)", params="%x: Tensor[(?, 3), float32]")
    assert window.shape(body) is None and static_size(window.tensor(body)) is None


def test_what_names_stand_for():
    window, body = window_of("let %a = 2f; let %b = %a; let %t = (%b, %x); let %s = exp(%t.1); %s")
    lets = [node for node in tree.postorder(body) if isinstance(node, relay.Let)]
    names = {let.variable.name_hint: let.variable for let in lets}
    assert window.value(names["b"]) == 2
    assert [e.name_hint for e in window.fields(names["t"])] == ["b", "x"]
    assert window.call_of(names["s"], "exp") is None  # its argument is no name
    assert window.definition(names["s"]) is names["s"]


def test_a_call_is_one_of_those_asked_for():
    window, body = window_of("negative(%x)")
    assert window.call_of(body, "exp", "negative") is body
    assert window.call_of(body, "exp") is None and window.fields(body) is None
