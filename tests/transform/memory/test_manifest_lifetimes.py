"""Values are killed where they are not needed any more."""

import numpy as np
from hypothesis import given

import relay
from relay import tree
from relay.analysis import check_a_normal_form
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value
from relay.testing.strategies import programs
from relay.transform import FuseOps, InferType, ManifestLifetimes, ToANormalForm
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    mod = relay.IRModule()
    mod.import_from_std("core.rly")
    return InferType()(relay.parse(HEADER + text, init_module=mod))


def manifested(mod):
    after = ManifestLifetimes()(mod)
    check_well_formed(after)
    for function in after.functions.values():
        assert check_a_normal_form(function)
    again = ManifestLifetimes()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(manifested(parse(before)), parse(after))


def kills(mod):
    return [
        node.args[0].name_hint
        for node in tree.postorder(mod["main"])
        if isinstance(node, relay.Call) and getattr(node.op, "name", "") == "memory.kill"
    ]


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_values_are_killed_behind_their_last_use():
    assert_rewrites(
        """
        def @main(%x: int32) {
          let %a = negative(%x); let %b = negative(%a); let %c = add(%b, %b); %c
        }
        """,
        """
        def @main(%x: int32) {
          let %a = negative(%x);
          let %b = negative(%a);
          let %_ = memory.kill(%a);
          let %c = add(%b, %b);
          let %_1 = memory.kill(%b);
          %c
        }
        """,
    )


def test_a_value_that_nobody_needs_is_killed_at_once():
    assert_rewrites(
        "def @main(%x: int32) { let %a = negative(%x); %x }",
        "def @main(%x: int32) { let %a = negative(%x); let %_ = memory.kill(%a); %x }",
    )


def test_branches_kill_what_only_the_other_one_needs():
    assert_rewrites(
        """
        def @main(%x: int32, %c: bool) {
          let %a = negative(%x);
          let %b = negative(%a);
          let %d = if (%c) { let %e = add(%a, %b); %e } else { %a };
          %d
        }
        """,
        """
        def @main(%x: int32, %c: bool) {
          let %a = negative(%x);
          let %b = negative(%a);
          let %d = if (%c) {
            let %e = add(%a, %b);
            let %_ = memory.kill(%a);
            let %_1 = memory.kill(%b);
            %e
          } else {
            let %_2 = memory.kill(%b);
            %a
          };
          %d
        }
        """,
    )


def test_what_belongs_to_others_is_not_killed():
    text = """
    def @main(%x: int32, %l: (int32, int32)) {
      let %one = 1;
      let %same = %x;
      let %kept = negative(%x);
      let %f = fn (%y: int32) { let %z = add(%y, %kept); %z };
      let %g = %f(%one);
      let %h = add(%g, %same);
      %h
    }
    """
    assert kills(manifested(parse(text))) == ["g"]


def test_functions_inside_kill_what_is_theirs():
    text = """
    def @main(%x: int32) {
      let %f = fn (%y: int32) { let %z = add(%y, %y); let %w = negative(%z); %w };
      let %g = %f(%x);
      %g
    }
    """
    assert kills(manifested(parse(text))) == ["z"]


def test_a_storage_lives_as_long_as_what_lies_in_it():
    text = """
    def @main(%x: Tensor[(4), float32]) {
      let %size = 16i64;
      let %shape = meta[relay.Constant][0];
      let %offset = 0i64;
      let %s = memory.alloc_storage(%size, %shape, %size);
      let %t: Tensor[(4), float32] = memory.alloc_tensor(%s, %offset, %shape, const_shape=[4]);
      let %ins = (%x,);
      let %outs = (%t,);
      let %f = fn (%p: Tensor[(4), float32]) { let %e = exp(%p); %e };
      let %done = vm.invoke_tvm_op(%f, %ins, %outs);
      let %y = negative(%t);
      %y
    }
    """
    mod = relay.IRModule()
    mod.import_from_std("core.rly")
    table = {"relay.Constant": [relay.const(np.array([4], "int64"), "int64")]}
    mod = InferType()(relay.parse(HEADER + text, init_module=mod, init_meta_table=table))
    after = manifested(mod)
    assert kills(after) == ["ins", "outs", "t", "s"]
    value = np.arange(4, dtype="float32") / 4
    np.testing.assert_array_equal(evaluate(after, value).numpy(), -np.exp(value))


def test_a_storage_whose_tensor_leaves_is_not_given_back():
    text = """
    def @main(%size: int64, %shape: Tensor[(1), int64]) {
      let %s = memory.alloc_storage(%size, %shape, %size);
      let %t: Tensor[(4), float32] = memory.alloc_tensor(%s, %size, %shape, const_shape=[4]);
      %t
    }
    """
    assert kills(manifested(parse(text))) == []
    handed_on = text.replace("%t\n", "let %u = @f(%t); %u\n") + (
        "def @f(%x: Tensor[(4), float32]) { %x }"
    )
    assert kills(manifested(parse(handed_on))) == ["t"]


LAID_OUT = """
def @main(%size: int64, %shape: Tensor[(1), int64], %c: bool) {
  let %s = memory.alloc_storage(%size, %shape, %size);
  let %t: Tensor[(4), float32] = memory.alloc_tensor(%s, %size, %shape, const_shape=[4]);
  REST
}
"""


def test_what_has_two_names_lives_as_long_as_either_is_used():
    text = "def @main(%x: int32) { let %a = negative(%x); let %b = %a; let %d = abs(%x); RESULT }"
    used = text.replace("RESULT", "let %e = add(%b, %d); %e")
    assert kills(manifested(parse(used))) == ["a", "d"]
    again = LAID_OUT.replace("REST", "let %u = %t; let %v = %u; %v")
    assert "s" not in kills(manifested(parse(again)))
    later = LAID_OUT.replace("REST", "let %u = %t; let %v = exp(%u); %v")
    assert kills(manifested(parse(later))) == ["t", "s"]


def test_parts_of_data_keep_the_storage_they_lie_in():
    text = LAID_OUT.replace(
        "REST",
        """
        let %o = (%t, %size);
        let %r = match (%o) { (%p, %n) => { let %q = (%p, %n); let %e = %q.0; let %f = exp(%e); %f
        } };
        %r
        """,
    )
    names = kills(manifested(parse(text)))
    assert names.index("s") > names.index("e")


def test_a_storage_of_a_branch_whose_tensor_is_its_result_is_not_given_back():
    inside = """
    let %r = if (%c) {
      let %s1 = memory.alloc_storage(%size, %shape, %size);
      let %t1: Tensor[(4), float32] = memory.alloc_tensor(%s1, %size, %shape, const_shape=[4]);
      %t1
    } else { %t };
    let %e = exp(%r);
    %e
    """
    names = kills(manifested(parse(LAID_OUT.replace("REST", inside))))
    assert "s1" not in names
    assert "s" in names


def test_a_program_that_is_not_in_normal_form_is_brought_into_it():
    after = manifested(parse("def @main(%x: int32) { negative(negative(negative(%x))) }"))
    assert len(kills(after)) == 2


def test_long_programs_take_linear_time():
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(deep(5_000)):
        body = relay.add(relay.exp(body), x)
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    assert len(kills(ManifestLifetimes()(mod))) == 2 * deep(5_000) - 1


@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    after = manifested(ToANormalForm()(FuseOps()(mod)))
    assert_same_value(evaluate(after, *args), evaluate(mod, *args))


def test_what_says_where_values_end_compiles():
    straight = manifested(parse("def @main(%x: Tensor[(4), float32]) { exp(negative(%x)) }"))
    whole = manifested(
        parse(
            """
            def @main(%x: Tensor[(4), float32], %c: bool) {
              let %a = negative(%x);
              if (%c) { exp(%a) } else { %x }
            }
            """
        )
    )
    assert kills(straight)
    assert kills(whole)
    value = np.arange(4, dtype="float32")
    np.testing.assert_allclose(relay.compile(straight)(value), np.exp(-value), 1e-6)
    np.testing.assert_allclose(relay.compile(whole)(value, True), np.exp(-value), 1e-6)
