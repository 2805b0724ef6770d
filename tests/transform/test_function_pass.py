"""Passes made of functions and classes by decoration."""

import pytest

import relay
from relay import transform


@pytest.fixture
def module():
    x = relay.var("x", shape=(2,))
    return relay.IRModule.from_expr(relay.Function([x], x))


def test_a_function_pass_gets_the_function_the_module_and_the_context(module):
    seen = []

    @transform.function_pass(opt_level=1)
    def look(func, mod, ctx):
        seen.append((func, "main" in mod, ctx))
        return func

    with transform.PassContext() as context:
        look(module)
    assert seen == [(module["main"], True, context)]


def test_a_module_pass_gets_the_module_and_the_context(module):
    @transform.module_pass(opt_level=1)
    def add_other(mod, ctx):
        mod["other"] = mod["main"]
        return mod

    assert "other" in add_other(module)


def test_a_decorated_function_is_a_pass_that_keeps_its_name_and_doc():
    @transform.module_pass
    def tidy(mod, ctx):
        """Tidies."""
        return mod

    assert isinstance(tidy, transform.ModulePass)
    assert (tidy.info.name, tidy.info.opt_level, tidy.__doc__) == ("tidy", 0, "Tidies.")
    assert "tidy" in str(tidy)


def test_level_name_and_requirements_can_be_given():
    @transform.function_pass(opt_level=3, name="other", required=["InferType"])
    def tidy(func, mod, ctx):
        return func

    assert isinstance(tidy, transform.FunctionPass)
    assert tidy.info == transform.PassInfo(3, "other", ("InferType",))


def test_it_works_without_decoration_too(module):
    def direct(mod, ctx):
        return mod

    made = transform.module_pass(direct, opt_level=3)
    assert (made.info.name, made.info.opt_level) == ("direct", 3)
    assert made(module)["main"] is module["main"]


@pytest.mark.parametrize(
    "decorate", [transform.function_pass, transform.function_pass(opt_level=1)]
)
def test_a_class_with_transform_function_makes_passes(decorate, module):
    @decorate
    class Replace:
        """Replaces functions."""

        def __init__(self, function, name="mine"):
            self.function = function
            self.name = name

        def transform_function(self, func, mod, ctx):
            return self.function

    x = relay.var("x", shape=(2,))
    other = relay.Function([x], relay.add(x, x))
    made = Replace(other)
    assert isinstance(made, transform.FunctionPass) and made.info.name == "Replace"
    assert made.function is other and Replace.__doc__ == "Replaces functions."
    assert made(module)["main"] is other


def test_a_class_with_transform_module_makes_passes(module):
    @transform.module_pass(name="Named", opt_level=2)
    class Add:
        def transform_module(self, mod, ctx):
            mod["other"] = mod["main"]
            return mod

    assert isinstance(Add(), transform.ModulePass)
    assert Add().info == transform.PassInfo(2, "Named")
    assert "other" in Add()(module)


def test_objects_of_one_class_keep_apart(module):
    @transform.module_pass
    class Name:
        def __init__(self, name):
            self.chosen = name

        def transform_module(self, mod, ctx):
            mod[self.chosen] = mod["main"]
            return mod

    first, second = Name("a"), Name("b")
    made = second(first(module))
    assert {"a", "b"} <= {v.name_hint for v in made.functions}
    with pytest.raises(AttributeError):
        _ = first.nothing


def test_a_class_without_the_method_is_told_so():
    with pytest.raises(relay.PassError, match="must define transform_function"):

        @transform.function_pass
        class Nothing:
            pass


def test_other_things_make_no_pass():
    with pytest.raises(relay.PassError, match="found 3"):
        transform.module_pass(3)
