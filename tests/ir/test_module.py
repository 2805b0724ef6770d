"""Modules: functions and data types by name."""

from __future__ import annotations

import pytest

import relay
from relay.errors import RelayError

F32 = relay.scalar_type("float32")


def identity(name: str = "x") -> relay.Function:
    x = relay.var(name, "float32")
    return relay.Function([x], x, F32)


def data_type(name: str, *constructors: str) -> relay.TypeData:
    header = relay.GlobalTypeVar(name)
    return relay.TypeData(header, [], [relay.Constructor(c, [], header) for c in constructors])


# --- functions


def test_functions_are_set_and_found_by_name_or_variable():
    f, g = identity(), identity()
    mod = relay.IRModule({"f": f})
    mod[relay.GlobalVar("g")] = g
    assert mod["f"] is mod[relay.GlobalVar("f")] is f
    assert mod["g"] is g
    assert list(mod.functions) == [relay.GlobalVar("f"), relay.GlobalVar("g")]
    mod["f"] = g
    assert mod["f"] is g


def test_a_module_starts_empty():
    mod = relay.IRModule({})
    assert mod.functions == {}
    assert mod.type_definitions == {}
    assert mod.attrs == {}


def test_the_variable_of_a_function_stays_the_same_object():
    mod = relay.IRModule({"f": identity()})
    var = mod.get_global_var("f")
    mod["f"] = identity()
    assert mod.get_global_var("f") is var
    assert mod.get_global_var(relay.GlobalVar("f")) is var
    mod.update_func("f", identity())
    assert next(iter(mod.functions)) is var


def test_functions_come_in_order_or_sorted():
    mod = relay.IRModule({name: identity() for name in "cab"})
    assert [v.name for v in mod] == list("cab")
    assert [v.name for v in mod.get_global_vars()] == list("abc")
    assert [v.name for v, _ in mod.functions_items()] == list("abc")


def test_membership_and_removal():
    mod = relay.IRModule({"f": identity()})
    assert "f" in mod
    assert relay.GlobalVar("f") in mod
    assert "g" not in mod
    assert relay.var("f") not in mod
    assert 3 not in mod
    assert relay.GlobalTypeVar("f") not in mod
    del mod["f"]
    assert "f" not in mod


def test_an_expression_becomes_a_function_of_its_free_variables():
    x, y = relay.var("x", "float32"), relay.var("y", shape=(n := relay.ShapeVar("n"),))
    mod = relay.IRModule()
    mod["f"] = relay.Tuple([x, y, x])
    f = mod["f"]
    assert isinstance(f, relay.Function)
    assert f.params == (x, y)
    assert f.type_params == (n,)


def test_from_expr_makes_main():
    x, y = relay.var("x", "float32"), relay.var("y", shape=(n := relay.ShapeVar("n"), 3))
    mod = relay.IRModule.from_expr(relay.Tuple([x, y]))
    assert mod["main"].params == (x, y)
    assert mod["main"].type_params == (n,)
    f = identity()
    assert relay.IRModule.from_expr(f)["main"] is f
    assert relay.IRModule.from_expr(relay.TupleWrapper(x, 2))["main"].body is x


def test_from_expr_takes_other_functions_and_types_along():
    definition = data_type("Colour", "Red")
    helper = relay.GlobalVar("helper")
    mod = relay.IRModule.from_expr(
        relay.Call(helper, []), {helper: identity()}, {definition.header: definition}
    )
    assert {v.name for v in mod} == {"main", "helper"}
    assert mod.type_definition("Colour") is definition


def test_from_expr_uses_the_symbol_of_a_function():
    f = identity().with_attr("global_symbol", "kernel")
    mod = relay.IRModule.from_expr(f)
    assert [v.name for v in mod] == ["kernel"]


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda mod: mod["man"], "the module has no function `@man`; did you mean `main`"),
        (lambda mod: mod[relay.GlobalVar("zzz")], r"the module has no function `@zzz`$"),
        (lambda mod: mod.get_global_var("man"), "no function `@man`; did you mean `main`"),
        (lambda mod: mod.__delitem__("man"), "no function `@man`; did you mean `main`"),
        (lambda mod: mod[3], r"named by a string or a relay\.GlobalVar, found 3"),
        (lambda mod: mod.__setitem__(3, identity()), "named by a string or a relay"),
        (lambda mod: mod.__setitem__("f", 3), "expected a Relay expression, found int 3"),
        (lambda mod: mod.get_type("List"), "the module has no type `List`"),
        (lambda mod: mod.get_global_type_var("Color"), "no type `Color`; did you mean `Colour`"),
        (lambda mod: mod[relay.GlobalTypeVar("List")], "the module has no type `List`"),
        (lambda mod: mod.get_constructor("Blue"), "the module has no constructor 'Blue'"),
        (lambda mod: mod.get_constructor(77), "the module has no constructor 77"),
        (lambda mod: mod.get_constructor("Colour", "Blue"), "type `Colour` has no constructor"),
        (lambda mod: mod.get_constructor("List", "Red"), "the module has no type `List`"),
    ],
)
def test_what_is_not_there_is_named(use, text):
    mod = relay.IRModule({"main": identity()})
    definition = data_type("Colour", "Red")
    mod[definition.header] = definition
    with pytest.raises(RelayError, match=text):
        use(mod)


# --- data types


def test_types_are_set_and_found_by_name():
    definition = data_type("Colour", "Red", "Green")
    red, green = definition.constructors
    mod = relay.IRModule({}, {definition.header: definition})
    assert mod.type_definitions == {definition.header: definition}
    assert mod[relay.GlobalTypeVar("Colour")] is definition
    assert mod.get_type("Colour") == (definition.header, red, green)
    assert mod.get_global_type_var("Colour") is definition.header
    assert mod.get_global_type_vars() == [definition.header]
    assert mod.find_type("Colour") is definition
    assert mod.find_type("List") is None
    assert relay.GlobalTypeVar("Colour") in mod
    assert "Colour" not in mod


def test_constructors_are_found_by_name_and_tag():
    definition = data_type("Colour", "Red", "Green")
    red, green = definition.constructors
    mod = relay.IRModule({}, {definition.header: definition})
    assert mod.get_constructor("Green") is green
    assert mod.get_constructor(red.tag) is red
    assert mod.get_constructor("Colour", "Red") is red
    assert mod.find_constructor("Red") is red
    assert mod.find_constructor("Blue") is None


def test_a_definition_needs_its_own_name():
    mod = relay.IRModule()
    with pytest.raises(RelayError, match="must be a TypeData with that header"):
        mod[relay.GlobalTypeVar("Other")] = data_type("Colour")
    with pytest.raises(RelayError, match="must be a TypeData with that header"):
        mod[relay.GlobalTypeVar("Other")] = identity()


def test_constructors_share_one_namespace():
    first, second = data_type("Colour", "Red"), data_type("Wine", "White", "Red")
    mod = relay.IRModule({}, {first.header: first})
    with pytest.raises(
        RelayError, match=r"`Red` of type `Wine` is already defined by type `Colour`"
    ):
        mod[second.header] = second
    twice = data_type("Twice", "Same", "Same")
    with pytest.raises(
        RelayError, match="`Same` of type `Twice` is already defined by type `Twice`"
    ):
        mod[twice.header] = twice
    assert mod.find_type("Wine") is None
    assert mod.find_constructor("White") is None


def test_a_type_can_be_defined_again():
    first, second = data_type("Colour", "Red", "Green"), data_type("Colour", "Green", "Blue")
    mod = relay.IRModule({}, {first.header: first})
    mod[second.header] = second
    assert mod.find_constructor("Red") is None
    assert mod.find_constructor("Green") is second.constructors[0]
    mod[second.header] = second
    assert mod.find_type("Colour") is second


def test_a_definition_that_is_refused_changes_nothing():
    color, wine = data_type("Colour", "Red", "Green"), data_type("Wine", "White")
    mod = relay.IRModule({}, {color.header: color, wine.header: wine})
    with pytest.raises(RelayError, match="`White` of type `Colour` is already defined"):
        mod[color.header] = data_type("Colour", "Blue", "White")
    assert mod.find_type("Colour") is color
    assert mod.find_constructor("Red") is color.constructors[0]
    assert mod.find_constructor("Blue") is None


# --- the whole


def test_update_takes_over_functions_and_types():
    definition = data_type("Colour", "Red")
    f, g, other_g = identity(), identity(), identity()
    mod = relay.IRModule({"f": f, "g": g})
    mod.update(relay.IRModule({"g": other_g, "h": f}, {definition.header: definition}))
    assert mod["g"] is other_g
    assert mod["h"] is f
    assert mod.find_constructor("Red") is definition.constructors[0]
    mod.update({relay.GlobalVar("k"): g})
    assert mod["k"] is g


def test_a_copy_is_a_module_of_its_own():
    definition = data_type("Colour", "Red")
    mod = relay.IRModule({"f": identity()}, {definition.header: definition}, {"a": 1})
    for copied in (mod.copy(), mod.shallow_copy()):
        assert copied["f"] is mod["f"]
        assert copied.attrs == {"a": 1}
        assert copied.find_constructor("Red") is definition.constructors[0]
        copied["g"] = identity()
        copied[relay.GlobalTypeVar("Wine")] = data_type("Wine", "White")
        assert "g" not in mod
        assert mod.find_type("Wine") is None


def test_attributes_of_a_module_change_by_copying():
    mod = relay.IRModule()
    assert mod.with_attr("a", [1]).attrs == {"a": (1,)}
    assert mod.attrs == {}


def test_a_module_has_a_text_form():
    mod = relay.IRModule({"main": identity()})
    assert "def @main(%x: float32) -> float32" in str(mod)
    assert mod.astext().startswith('#[version = "0.0.5"]')


def test_shape_variables_that_nobody_binds_become_parameters_of_the_function():
    n, m = relay.ShapeVar("n"), relay.ShapeVar("m")
    x, y = relay.var("x", shape=(n, m + 1)), relay.var("y", shape=(n,))
    module = relay.IRModule.from_expr(relay.Function([x, y], x, None, [m]))
    assert set(module["main"].type_params) == {n, m}
    typed = relay.transform.InferType()(module)
    assert typed["main"].checked_type.ret_type == x.type_annotation
    closed = relay.Function([x], x, None, [n, m])
    module["main"] = closed
    assert module["main"] is closed
    a = relay.TypeVar("A")
    module["open"] = relay.Function([z := relay.Var("z", a)], z)
    assert module["open"].type_params == ()


def test_what_is_looked_up_and_not_there_may_be_offered():
    asked = []

    def offer(module, name):
        asked.append(name)
        if name == "wanted":
            module["wanted"] = relay.Function([], relay.const(1))
        return name == "wanted"

    module = relay.IRModule()
    module.accept(offer)
    module.accept(offer)
    assert "wanted" not in module
    assert module.copy()["wanted"].body.data.item() == 1
    assert "wanted" not in module
    assert module.get_global_var("wanted").name_hint == "wanted"
    with pytest.raises(relay.RelayError, match="no function `@other`"):
        _ = module["other"]
    with pytest.raises(relay.RelayError, match="no type `T`"):
        module.get_type("T")
    assert asked == ["wanted", "wanted", "other", "T"]
