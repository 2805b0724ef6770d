"""How long variables are needed."""

import relay
from relay import tree
from relay.analysis.lifetimes import Live, backwards, functions_in, held_by, operands, result_of
from relay.transform import InferType

HEADER = '#[version = "0.0.5"]\n'
TEXT = """
def @main(%x: int32, %c: bool) -> int32 {
  let %a = negative(%x);
  let %b = add(%a, %x);
  let %d = if (%c) { let %e = add(%a, %b); %e } else { let %f = negative(%a); %f };
  let %g = add(%d, %x);
  %g
}
"""


def main(text=TEXT):
    return InferType()(relay.parse(HEADER + text))["main"]


class Record:
    """Writes down where variables end, and how much there is at bindings."""

    def __init__(self):
        self.last, self.entries, self.totals = {}, {}, {}

    def uses(self, e):
        return operands(e)

    def at_let(self, let, live, used):
        ends = sorted(v.name_hint for v in used if v not in live)
        self.last[let.variable.name_hint] = ends
        self.totals[let.variable.name_hint] = live.total

    def at_entry(self, owner, field, unused):
        self.entries[field] = [v.name_hint for v in unused]


def test_last_uses_are_met_first():
    record = Record()
    backwards(main(), record)
    assert record.last == {
        "a": [],
        "b": [],
        "e": ["a", "b"],
        "f": ["a"],
        "d": ["c"],
        "g": ["d", "x"],
    }
    assert record.entries == {"false_branch": ["b"]}


def test_sizes_add_up():
    function = main()
    names = {v.name_hint: v for v in tree.postorder(function) if isinstance(v, relay.Var)}
    record = Record()
    backwards(function, record, {names["a"]: 1, names["b"]: 10, names["d"]: 100, names["x"]: 1000})
    assert record.totals == {"g": 0, "d": 1111, "e": 1000, "f": 1000, "b": 1011, "a": 1001}


def test_sizes_that_are_not_known_are_counted():
    a, b = relay.var("a"), relay.var("b")
    live = Live({a: None, b: 3})
    for variable in (a, b, b):
        live.add(variable)
    assert (live.total, live.unknown) == (3, 1)
    live.discard(a)
    live.discard(a)
    assert (live.total, live.unknown) == (3, 0)
    assert list(live.taken_back(0)) == [b]
    assert b not in live
    assert live.total == 0


def test_operands_are_variables_outside_of_blocks():
    a, b, c = (relay.var(name, "bool") for name in "abc")
    assert list(operands(a)) == [a]
    assert list(operands(relay.If(a, b, c))) == [a]
    assert list(operands(relay.Tuple([a, relay.const(1), b]))) == [a, b]
    assert list(operands(relay.Call(a, [b, b]))) == [a, b, b]
    assert list(operands(relay.Function([a], relay.add(a, b)))) == [b]
    kernel = relay.Function([a], relay.add(a, a), attrs={"Primitive": 1})
    assert list(operands(kernel(b))) == [b]


def test_kernels_are_not_gone_through():
    x, y = relay.var("x"), relay.var("y")
    kernel = relay.Function([y], relay.exp(y), attrs={"Primitive": 1})
    closure = relay.Function([], kernel(x))
    root = relay.Function([x], closure)
    assert list(functions_in(root)) == [closure, root]


def test_blocks_end_in_their_result():
    x, y = relay.var("x"), relay.var("y")
    assert result_of(relay.Let(x, relay.const(1), relay.Let(y, x, y))) is y


def test_what_holds_what():
    function = main(
        """
        def @main(%x: int32, %c: bool) -> int32 {
          let %a = negative(%x);
          let %b = negative(%a);
          let %t = (%a, %b);
          let %u = %t.0;
          let %i = if (%c) { %u } else { let %r = ref(%x); let %s = ref_read(%r); %s };
          let %j = add(%i, %u);
          %j
        }
        """
    )
    made = ("a", "b")
    found = held_by(function, lambda v, _: v.name_hint in made, given=function.params)
    held = {v.name_hint: {h.name_hint for h in owners} for v, owners in found.items()}
    assert held == {
        "x": {"x"},
        "c": {"c"},
        "a": {"a"},
        "b": {"b"},
        "t": {"a", "b"},
        "u": {"a", "b"},
        "r": {"x"},
        "s": {"x"},
        "i": {"a", "b", "x"},
    }


def test_parts_of_data_hold_what_the_whole_does():
    mod = relay.IRModule()
    mod.import_from_std("prelude.rly")
    mod.update(
        relay.parse(
            HEADER
            + """
            def @main(%x: int32) -> int32 {
              let %n = Nil();
              let %l = Cons(%x, %n);
              let %r = match (%l) { Cons(%h, %t) => %h, Nil => %x };
              %r
            }
            """,
            init_module=mod,
        )
    )
    function = InferType()(mod)["main"]
    found = held_by(function, lambda v, _: False, given=function.params)
    assert {v.name_hint for v in found} == {"x", "l", "h", "t", "r"}
