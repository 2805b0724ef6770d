"""What evaluating an expression does besides giving a value."""

import pytest

import relay
from relay import tree
from relay.analysis.purity import Effect, Purity, manages_memory
from relay.ir.expr import Let
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
T = "Tensor[(3), float32]"


def effects(source):
    """The effect of every let's value, by the name of the variable."""
    module = relay.transform.InferType()(relay.parse(HEADER + source))
    purity = Purity(module)
    return {
        node.variable.name_hint: purity.effect(node.value).name
        for function in module.functions.values()
        for node in tree.postorder(function)
        if isinstance(node, Let)
    }


def test_operators_data_and_functions_do_nothing_besides():
    assert effects(f"""
        def @main(%x: {T}, %c: bool) {{
          let %a = exp(%x);
          let %b = (%a, %x).0;
          let %f = fn (%y: {T}) {{ ref_write(ref(%y), %y) }};
          let %r = ref(%x);
          let %d = if (%c) {{ %x }} else {{ %a }};
          %x
        }}
    """) == {"a": "NONE", "b": "NONE", "f": "NONE", "r": "NONE", "d": "NONE"}


def test_reading_is_less_than_writing():
    assert effects(f"""
        def @main(%x: {T}) {{
          let %r = ref(%x);
          let %a = exp(ref_read(%r));
          let %b = ref_write(%r, %x);
          %x
        }}
    """) == {"r": "NONE", "a": "READS", "b": "ACTS"}


def test_a_read_that_is_shared_counts_as_more_since_leaving_out_the_first_use_lets_it_read_later():
    assert effects(f"""
        def @main(%x: {T}) {{
          let %r = ref(%x);
          %0 = ref_read(%r);
          let %a = exp(%0);
          let %b = ref_write(%r, %x);
          %0
        }}
    """) == {"r": "NONE", "a": "ACTS", "b": "ACTS"}


def test_operators_with_effects_act():
    assert effects(f"def @main(%x: {T}) {{ let %a = nn.dropout(%x).0; %x }}") == {"a": "ACTS"}


def test_calling_a_known_function_does_what_its_body_does():
    assert effects(f"""
        def @main(%x: {T}) {{
          let %r = ref(%x);
          let %pure = fn (%y: {T}) {{ exp(%y) }};
          let %reads = fn () {{ ref_read(%r) }};
          let %acts = fn (%z: {T}) {{ ref_write(%r, %z) }};
          let %a = %pure(%x);
          let %b = %reads();
          let %c = %acts(%x);
          let %d = (%pure, %acts).1(%x);
          %x
        }}
    """) == {
        "r": "NONE",
        "pure": "NONE",
        "reads": "NONE",
        "acts": "NONE",
        "a": "NONE",
        "b": "READS",
        "c": "ACTS",
        "d": "ACTS",
    }


def test_effects_come_through_global_functions_that_call_each_other():
    source = """
        def @main(%n: int32) -> int32 {
          let %a = @even(%n);
          let %b = @left(%n, ref(%n));
          %n
        }
        def @even(%n: int32) -> int32 { if (%n == 0) { 1 } else { @odd(%n - 1) } }
        def @odd(%n: int32) -> int32 { if (%n == 0) { 0 } else { @even(%n - 1) } }
        def @left(%n: int32, %r: ref(int32)) -> int32 {
          let %inside = @right(%n, %r);
          %n
        }
        def @right(%n: int32, %r: ref(int32)) -> int32 {
          let %w = ref_write(%r, 1);
          @left(%n, %r)
        }
    """
    assert effects(source) == {"a": "NONE", "b": "ACTS", "inside": "ACTS", "w": "ACTS"}


def test_a_local_function_that_calls_itself_has_the_effects_of_its_body_in_its_body_too():
    assert effects(f"""
        def @main(%x: {T}, %r: ref({T})) {{
          let %f = fn (%y: {T}) -> {T} {{
            let %again = %f(%y);
            let %w = ref_write(%r, %y);
            %y
          }};
          let %a = %f(%x);
          %x
        }}
    """) == {"again": "ACTS", "w": "ACTS", "f": "NONE", "a": "ACTS"}


def test_a_function_that_is_not_known_may_do_anything():
    assert effects(f"""
        def @main(%x: {T}, %f: fn ({T}) -> {T}, %r: ref(fn ({T}) -> {T})) {{
          let %a = %f(%x);
          let %g = ref_read(%r);
          let %b = %g(%x);
          %x
        }}
    """) == {"a": "ACTS", "g": "READS", "b": "ACTS"}


def test_functions_come_out_of_calls_and_data_as_they_went_in():
    assert effects(f"""
        type Box[A] {{ Box(A) }}
        def @main(%x: {T}, %r: ref({T})) {{
          let %acts = fn () {{ ref_write(%r, %x) }};
          let %pure = fn () {{ () }};
          let %made = fn () {{ %acts }};
          let %a = match (Box(%acts)) {{ Box(%f) => %f() }};
          let %b = match (Box(%pure)) {{ Box(%g) => %g() }};
          let %c = %made();
          let %d = %c();
          let %e = Box;
          %x
        }}
    """) == {
        "acts": "NONE",
        "pure": "NONE",
        "made": "NONE",
        "a": "ACTS",
        "b": "NONE",
        "c": "NONE",
        "d": "ACTS",
        "e": "NONE",
    }


def test_taking_a_list_apart_is_pure_whatever_is_in_it():
    source = """
        type List[A] { Cons(A, List[A]), Nil }
        def @tail[A](%l: List[A]) -> List[A] { match? (%l) { Cons(_, %t) => %t } }
        def @main(%l: List[int32]) { let %a = @tail(%l); %l }
    """
    assert effects(source) == {"a": "NONE"}


def test_without_the_module_global_functions_are_not_known():
    module = relay.transform.InferType()(
        relay.parse(HEADER + "def @main(%n: int32) { @f(%n) } def @f(%n: int32) { %n }")
    )
    body = module["main"].body
    assert Purity(module).is_pure(body)
    assert Purity(module["main"]).effect(body) is Effect.ACTS


def test_free_variables_are_not_known():
    f = relay.var("f")
    call = relay.Call(f, [])
    assert Purity(call).effect(call) is Effect.ACTS


def test_only_parts_of_the_program_are_answered_for():
    x = relay.var("x", shape=(3,))
    purity = Purity(relay.exp(x))
    assert purity.is_pure(x)
    with pytest.raises(relay.RelayError, match="none of it"):
        purity.effect(relay.exp(x))


def test_an_annotation_of_a_function_is_the_function():
    annotated = "annotation.with_funcid(%f, fid=1)"
    assert effects(f"""
        def @main(%x: {T}, %r: ref({T})) {{
          let %f = fn () {{ ref_write(%r, %x) }};
          let %a = {annotated};
          let %b = %a();
          %x
        }}
    """) == {"f": "NONE", "a": "NONE", "b": "ACTS"}


@pytest.mark.parametrize("depth", [deep(20_000)])
def test_programs_may_be_deep(depth):
    x, r = relay.var("x", shape=(3,)), relay.var("r", relay.RefType(relay.TensorType((3,))))
    body = relay.RefRead(r)
    for _ in range(depth):
        body = relay.nn.relu(body)
    assert Purity(body).effect(body) is Effect.READS
    functions = x
    for i in range(depth):
        functions = relay.Let(relay.var(f"v{i}"), relay.Function([], functions), x)
    assert Purity(functions).is_pure(functions)


def test_programs_that_write_to_storage_manage_memory():
    x = relay.var("x", shape=(3,))
    assert not manages_memory(relay.exp(x))
    assert manages_memory(relay.op.get("memory.kill")(x))
