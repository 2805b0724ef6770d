"""What every pass does: it leaves its argument alone and runs what it requires before."""

from dataclasses import FrozenInstanceError, dataclass

import pytest

import relay
from relay import transform
from relay.errors import PassError
from relay.transform.base import find_pass


def identity_module():
    x = relay.var("x", shape=(2, 3))
    return relay.IRModule.from_expr(relay.Function([x], x))


@dataclass(frozen=True)
class Double(transform.FunctionPass):
    """x  ->  x + x"""

    opt_level = 1
    required = ("InferType",)
    times: int = 1

    def transform_function(self, function, module, context):
        body = function.body
        for _ in range(self.times):
            body = relay.add(body, body)
        return relay.Function(function.params, body, attrs=function.attrs)


def test_a_pass_does_not_change_the_module_it_is_given():
    @transform.module_pass
    def empty(mod, ctx):
        del mod["main"]
        mod["other"] = relay.const(1)
        return mod

    module = identity_module()
    main = module["main"]
    made = empty(module)
    assert [v.name_hint for v in module.functions] == ["main"] and module["main"] is main
    assert [v.name_hint for v in made.functions] == ["other"]


@pytest.mark.parametrize("kind", [transform.module_pass, transform.function_pass])
def test_what_goes_wrong_inside_a_pass_is_an_error_of_the_pass(kind):
    @kind(opt_level=0, name="divides")
    def divides(one, *_):
        return 1 // 0

    with pytest.raises(PassError, match="pass `divides` failed: ZeroDivisionError") as caught:
        transform.Sequential([divides])(identity_module())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_fields_of_a_pass_are_its_options():
    assert Double(times=2) == Double(2) != Double()
    assert repr(Double()) == "Double(times=1)"
    with pytest.raises(FrozenInstanceError):
        Double().times = 3


def test_info_names_the_pass_its_level_and_what_it_requires():
    info = Double().info
    assert (info.name, info.opt_level, info.required) == ("Double", 1, ("InferType",))
    assert "pass name: Double" in str(info)
    info = transform.PassInfo(opt_level=1, name="xyz")
    assert (info.opt_level, info.name, info.required) == (1, "xyz", ())


def test_what_a_pass_requires_runs_before_it():
    seen = []

    @transform.function_pass(required=["InferType"])
    def look(func, mod, ctx):
        seen.append(func.checked_type)
        return func

    look(identity_module())
    assert seen == [identity_ty()]


def identity_ty():
    tensor = relay.TensorType((2, 3), "float32")
    return relay.FuncType([tensor], tensor)


def test_a_required_pass_may_be_given_as_a_pass():
    order = []

    @transform.module_pass
    def first(mod, ctx):
        order.append("first")
        return mod

    @transform.module_pass(required=[first])
    def second(mod, ctx):
        order.append("second")
        return mod

    @transform.module_pass(required=[second, first])
    def third(mod, ctx):
        order.append("third")
        return mod

    third(identity_module())
    assert order == ["first", "second", "third"]


def test_passes_that_require_each_other_are_an_error():
    class Loop(transform.ModulePass):
        pass

    class Other(transform.ModulePass):
        required = (Loop(),)

    Loop.required = (Other(),)
    with pytest.raises(relay.PassError, match="Loop -> Other -> Loop"):
        Loop()(identity_module())


def test_an_unknown_required_pass_is_an_error_with_a_hint():
    with pytest.raises(relay.PassError, match="did you mean `InferType`"):
        find_pass("InferTypes")


def test_a_pass_that_needs_options_cannot_be_required_by_name():
    with pytest.raises(relay.PassError, match="it needs transform, func_name_regex"):
        find_pass("ApplyPassToFunction")


def test_typed_functions_stay_typed():
    module = transform.InferType()(identity_module())
    made = Double()(module)
    assert made["main"].body.checked_type == relay.TensorType((2, 3), "float32")


def test_untyped_functions_are_not_inferred_behind_the_users_back():
    @transform.function_pass
    def renew(func, mod, ctx):
        return relay.Function(func.params, func.body)

    assert renew(identity_module())["main"].ty is None


def test_a_function_that_is_not_changed_stays_the_same_object():
    @transform.function_pass
    def nothing(func, mod, ctx):
        return func

    module = identity_module()
    assert nothing(module)["main"] is module["main"]


@pytest.mark.parametrize(
    "attrs", [{"SkipOptimization": 1}, {"Extern": 1}, {"Compiler": "somebody"}]
)
def test_functions_that_are_somebody_elses_business_are_left_alone(attrs):
    module = identity_module()
    module["main"] = module["main"].with_attr(attrs)
    assert isinstance(Double()(module)["main"].body, relay.Var)


@pytest.mark.parametrize("attrs", [{"SkipOptimization": 0}, {"Compiler": "default"}, {"Inline": 1}])
def test_functions_with_other_attributes_are_not(attrs):
    module = identity_module()
    module["main"] = module["main"].with_attr(attrs)
    assert isinstance(Double()(module)["main"].body, relay.Call)


def test_every_function_is_seen_in_the_module_as_it_was():
    x = relay.var("x", shape=())
    y = relay.var("y", shape=())
    module = relay.IRModule({"f": relay.Function([x], x), "g": relay.Function([y], y)})
    seen = []

    @transform.function_pass
    def look(func, mod, ctx):
        seen.append(all(isinstance(f.body, relay.Var) for f in mod.functions.values()))
        return relay.Function(func.params, relay.add(func.body, func.body))

    look(module)
    assert seen == [True, True]


def test_an_error_inside_a_pass_passes_unchanged_with_a_note_naming_the_pass():
    problem = relay.RelayError("oh")

    @transform.module_pass
    def fails(mod, ctx):
        raise problem

    with pytest.raises(relay.RelayError, match="oh") as caught:
        transform.Sequential([fails], name="outer")(identity_module())
    assert caught.value is problem
    assert problem.__notes__ == ["in pass `fails`", "in pass `outer`"]


def test_a_pass_that_returns_nothing_is_told_so():
    @transform.module_pass
    def forgot(mod, ctx):
        pass

    with pytest.raises(relay.PassError, match="returns an IRModule, found NoneType"):
        forgot(identity_module())

    @transform.function_pass
    def forgot_too(func, mod, ctx):
        pass

    with pytest.raises(relay.PassError, match="found NoneType for `@main`"):
        forgot_too(identity_module())


def test_a_pass_takes_a_module():
    with pytest.raises(relay.PassError, match=r"IRModule\.from_expr"):
        transform.InferType()(relay.const(1))


def test_a_pass_without_work_says_what_to_define():
    class Nothing(transform.ModulePass):
        pass

    class NothingEither(transform.FunctionPass):
        pass

    with pytest.raises(relay.PassError, match="must define transform_module"):
        Nothing()(identity_module())
    with pytest.raises(relay.PassError, match="must define transform_function"):
        NothingEither()(identity_module())
