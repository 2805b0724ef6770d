"""JSON keeps everything but memos, and no text makes reading fail but with a RelayError."""

import base64
import contextlib
import copy
import json
import pickle
import random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relay
from relay import nd, tree
from relay.errors import RelayError, SequentialSpan, SourceName, Span
from relay.ir import dims
from relay.ir.attrs import DictAttrs
from relay.ir.compare import assert_structural_equal, data_key
from relay.ir.expr import get_op, op_names
from relay.serialize import load_json, save_json
from relay.testing import Seeded, random_module
from tests.support.looping import each
from tests.support.sampling import deep

SHAPE_A, SHAPE_B = relay.ShapeVar("n"), relay.ShapeVar("m")


def round_trip(node):
    text = save_json(node)
    loaded = load_json(text)
    assert save_json(loaded) == text
    return loaded


def list_type():
    header, a = relay.GlobalTypeVar("List"), relay.TypeVar("A")
    return relay.TypeData(
        header,
        (a,),
        (
            relay.Constructor("Nil", (), header),
            relay.Constructor("Cons", (a, header(a)), header),
        ),
    )


def module_with_everything():
    """One of each kind of node, sharing included."""
    definition = list_type()
    nil, cons = definition.constructors
    a, n = relay.TypeVar("A"), relay.ShapeVar("n")
    vector = relay.TensorType((n, relay.Any(), n * 2 + 1), "float32")
    x, xs = relay.var("x", vector), relay.var("xs", definition.header(a))
    head, tail, cell = (
        relay.var("head"),
        relay.var("tail"),
        relay.var("cell", relay.RefType(vector)),
    )
    shared = x + relay.const(np.ones((1,)), "float32")
    pair = relay.Tuple((shared, shared))
    match = relay.Match(
        relay.Tuple((xs, x)),
        (
            relay.Clause(
                relay.PatternTuple(
                    (
                        relay.PatternConstructor(
                            cons, (relay.PatternVar(head), relay.PatternVar(tail))
                        ),
                        relay.PatternWildcard(),
                    )
                ),
                relay.TupleGetItem(pair, 1),
            ),
            relay.Clause(relay.PatternWildcard(), relay.RefRead(cell)),
        ),
        complete=False,
    )
    body = relay.Let(
        cell,
        relay.RefCreate(shared),
        relay.Let(
            relay.var("_"),
            relay.RefWrite(cell, shared),
            relay.If(relay.const(True), match, relay.Call(relay.GlobalVar("main"), (x, xs))),
        ),
    )
    main = relay.Function(
        (x, xs), body, vector, (a, n), {"Primitive": 1, "deep": {"a": [1, (2.5, "b", None)]}}
    )
    apply = relay.var("f", relay.FuncType((a,), a, (a,)))
    module = relay.IRModule({"main": main}, {definition.header: definition}, {"level": 3})
    module["other"] = relay.Function((apply,), relay.Call(nil, (), None, (relay.TupleType(()),)))
    module.source_map["here"] = SourceName("here", "some text")
    return module


def test_a_module_comes_back_equal():
    module = module_with_everything()
    loaded = round_trip(module)
    assert_structural_equal(module, loaded)
    assert [v.name_hint for v in loaded.functions] == ["main", "other"]
    assert loaded.source_map["here"].text == "some text"
    assert loaded.attrs["level"] == 3


def test_sharing_is_kept_exactly():
    x = relay.var("x", shape=(2,))
    once = x + x
    shared = relay.Tuple((once, once))
    separate = relay.Tuple((x + x, x + x))
    loaded = round_trip(shared)
    assert loaded.fields[0] is loaded.fields[1]
    assert loaded.fields[0].args[0] is loaded.fields[0].args[1]
    loaded = round_trip(separate)
    assert loaded.fields[0] is not loaded.fields[1]


def test_constants_share_their_data():
    data = nd.array(np.arange(3))
    loaded = round_trip(relay.Tuple((relay.Constant(data), relay.Constant(data))))
    assert loaded.fields[0] is not loaded.fields[1]
    assert loaded.fields[0].data is loaded.fields[1].data


@pytest.mark.parametrize(
    "ty",
    [
        relay.TensorType((), "bool"),
        relay.TensorType((SHAPE_A, relay.Any()), "float16"),
        relay.TensorType(((SHAPE_A * SHAPE_B * 3 + 7) // 4, SHAPE_A % 5), "int4"),
        relay.TensorType((dims.maximum(SHAPE_A, SHAPE_B + 1), dims.minimum(SHAPE_A, 4)), "int8"),
        relay.TensorType(((SHAPE_A + 1) // (SHAPE_B + 1), SHAPE_A * SHAPE_A), "int8"),
        relay.TupleType((relay.TupleType(()), relay.RefType(relay.scalar_type("int64")))),
        relay.FuncType((SHAPE_A,), SHAPE_A, (SHAPE_A,)),
        relay.TypeCall(relay.GlobalTypeVar("List"), (relay.TensorType((3,), "float8_e5m2"),)),
    ],
)
def test_types_come_back_equal(ty):
    loaded = round_trip(ty)
    # free variables are new objects, so the comparison binds them
    bind = relay.FuncType
    assert bind((ty,), ty, (SHAPE_A, SHAPE_B)) == bind(
        (loaded,), loaded, tuple(_variables_like(loaded))
    )


def _variables_like(ty):
    found = {v.name_hint: v for v in relay.ir.variables.all_type_vars(ty)}
    return found.get("n", SHAPE_A), found.get("m", SHAPE_B)


def test_spans_are_kept():
    source = SourceName("model.relay", "let %x = 1;")
    span = Span(source, 1, 1, 5, 7)
    both = SequentialSpan((span, Span(source, 2, 2, 1, 3)))
    x = relay.var("x", relay.TensorType((2,), span=span), span=both)
    loaded = round_trip(x)
    assert loaded.span == both
    assert loaded.type_annotation.span == span
    assert loaded.span.spans[0] is loaded.type_annotation.span
    assert loaded.type_annotation.span.source_name.text == "let %x = 1;"


def test_checked_types_are_memos_and_are_not_stored():
    x = relay.var("x", shape=(2,))
    call = x + x
    object.__setattr__(call, "ty", x.type_annotation)
    assert load_json(save_json(call)).ty is None


def test_type_arguments_may_be_dimensions():
    call = relay.Call(relay.GlobalVar("f"), (), None, (3, SHAPE_A, relay.scalar_type("int32")))
    assert round_trip(call).type_args[0] == 3


@pytest.mark.parametrize("dtype", relay.dtypes.NAMES)
@each("shape", [(), (3,), (2, 0), (2, 3)])
def test_tensors_of_every_element_type(dtype, shape):
    values = np.random.default_rng(0).integers(0, 2, shape)
    array = np.asarray(values).astype(relay.dtypes.to_numpy(dtype))
    loaded = round_trip(nd.array(array))
    assert loaded.dtype == dtype
    assert loaded.array.tobytes() == array.tobytes()
    assert loaded.shape == shape


def test_nan_and_infinity_survive_in_data_and_attributes():
    array = np.array([np.nan, np.inf, -np.inf, -0.0])
    assert round_trip(nd.array(array)).array.tobytes() == array.tobytes()
    loaded = round_trip(DictAttrs({"a": float("inf"), "b": float("-inf"), "c": float("nan")}))
    assert loaded["a"] == float("inf")
    assert loaded["b"] == float("-inf")
    assert loaded["c"] != loaded["c"]


def test_data_is_little_endian_whatever_the_layout_in_memory():
    array = np.arange(6, dtype=">i4").reshape(2, 3).T
    entry = json.loads(save_json(nd.NDArray(nd.as_numpy(array))))["nodes"][0]
    assert base64.b64decode(entry["data"]) == np.ascontiguousarray(array).astype("<i4").tobytes()


def test_a_standalone_constructor_keeps_its_tag():
    cons = list_type().constructors[1]
    assert round_trip(cons).tag == cons.tag


def test_a_long_chain_of_calls():
    expr = relay.var("x", shape=(2,))
    relu = get_op("nn.relu")
    for _ in range(deep(100_000)):
        expr = relay.Call(relu, (expr,))
    loaded = load_json(save_json(expr))
    assert sum(1 for _ in tree.postorder(loaded)) == deep(100_000) + 2


def test_a_long_chain_of_lets_and_of_nested_types():
    x = body = relay.var("x", shape=())
    ty = relay.TupleType(())
    for _ in range(deep(100_000)):
        body = relay.Let(relay.var("y"), x, body)
        ty = relay.TupleType((ty,))
    assert sum(1 for _ in tree.postorder(load_json(save_json(body)))) == 2 * deep(100_000) + 1
    assert load_json(save_json(ty)) == ty


# --- what is refused ---------------------------------------------------------------------------


def edited(node, change):
    document = json.loads(save_json(node))
    change(document)
    return json.dumps(document)


def test_an_unknown_operator_is_named():
    x = relay.var("x", shape=(2,))

    def rename(document):
        next(e for e in document["nodes"] if e["node"] == "Op")["name"] = "nn.rellu"

    with pytest.raises(relay.OperatorError, match=r"nn\.rellu.*nn\.relu"):
        load_json(edited(get_op("nn.relu")(x), rename))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("NaN", "NaN is no JSON number"),
        ("9" * 10_000, "not JSON"),
        ("[]", "not written by"),
        ('{"format": "relay", "version": 2}', "version 2"),
        ('{"format": "relay", "version": 1, "nodes": {}}', '"nodes" must be a list'),
        ('{"format": "relay", "version": 1, "nodes": [7], "root": 1}', "entry 0"),
        ('{"format": "relay", "version": 1, "nodes": [{"node": "X"}]}', "unknown kind"),
        ('{"format": "relay", "version": 1, "nodes": [], "root": {"ref": 0}}', "earlier entry"),
        (
            '{"format": "relay", "version": 1, "nodes": [{"node": "Tuple", "fields": [1]}]}',
            "`fields` must be a list of Expr",
        ),
        (
            '{"format": "relay", "version": 1, "nodes": [{"node": "TensorType", "shape": [-1]}]}',
            "cannot be negative",
        ),
        ('{"format": "relay", "version": 1, "nodes": [{"node": "Let"}]}', "`variable` is missing"),
        (
            '{"format": "relay", "version": 1, "nodes": [{"node": "Any", "x": 1}]}',
            "no such field",
        ),
    ],
)
def test_malformed_text_is_refused_with_a_reason(text, message):
    with pytest.raises(RelayError, match=message.replace("(", r"\(")):
        load_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.update(data="????"), "not base64"),
        (lambda e: e.update(data="AAAA"), "takes 24 bytes, found 3"),
        (lambda e: e.update(shape=[2**62, 0, 2**62]), "does not fit in memory"),
        (lambda e: e.update(shape=[-6]), "not the shape"),
        (lambda e: e.update(dtype="object"), "unknown element type"),
        (lambda e: e.update(dtype="float32x4"), "unknown element type"),
        (lambda e: e.update(device=7), "`device`"),
    ],
)
def test_wrong_tensors_are_refused(change, message):
    text = edited(nd.array(np.zeros((2, 3), "float32")), lambda d: change(d["nodes"][0]))
    with pytest.raises(RelayError, match=message):
        load_json(text)


def load_nodes(*nodes):
    document = {"format": "relay", "version": 1, "nodes": list(nodes), "root": None}
    return load_json(json.dumps(document))


def test_dimensions_that_explode_when_written_out_are_refused():
    def layer(index):
        """The sum of many powers of the layer before, divided by 7."""
        below = {"ref": 2 * index}
        terms = [[1, [below, power]] for power in range(1, 20)]
        return [
            {"node": "DimExpr", "terms": terms},
            {"node": "DimCall", "function": "//", "args": [{"ref": 2 * index + 1}, 7]},
        ]

    start = {"node": "TypeVar", "name_hint": "n", "kind": "ShapeVar"}
    layers = [entry for index in range(10) for entry in layer(index)]
    with pytest.raises(RelayError, match="more than 10000 parts"):
        load_nodes(start, *layers)
    power = {"node": "DimExpr", "terms": [[1, [{"ref": 0}, 10**9]]]}
    with pytest.raises(RelayError, match="more than 10000 parts"):
        load_nodes(start, power, {"node": "TensorType", "shape": [{"ref": 1}, -1]})


def test_attributes_of_every_operator_are_kept():
    for name in op_names():
        op = get_op(name)
        for sample in op.samples:
            attrs = op.make_attrs(dict(sample.attrs))
            call = relay.Call(op, (), attrs)
            if attrs is not None and any(callable(value) for _, value in attrs.items()):
                with pytest.raises(RelayError, match="neither plain data nor a node"):
                    save_json(call)
                continue
            loaded = round_trip(call)
            assert type(loaded.attrs) is type(attrs)
            assert data_key(loaded.attrs) == data_key(attrs)


def test_what_is_no_data_is_not_stored():
    relation = relay.TypeRelation(lambda site: None, (), 0)
    with pytest.raises(RelayError, match="cannot store a type relation"):
        save_json(relay.FuncType((), relay.TupleType(()), (), (relation,)))
    with pytest.raises(RelayError, match="cannot store a object"):
        save_json(object())
    nested = ()
    for _ in range(100):
        nested = (nested,)
    with pytest.raises(RelayError, match="nest deeper"):
        save_json(DictAttrs({"a": nested}))


def mutations(document, choices):
    """Places in a JSON document where a value can be replaced, removed or moved."""
    places = []
    pending = [document]
    while pending:
        part = pending.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            places.append((part, key))
            if isinstance(part[key], dict | list):
                pending.append(part[key])
    part, key = choices.choice(places)
    kind = choices.randrange(6)
    if kind == 0:
        del part[key]
    elif kind == 1:
        other, other_key = choices.choice(places)
        part[key] = json.loads(json.dumps(other[other_key]))
    elif kind == 2:
        part[key] = choices.choice(
            [None, True, -1, 0, 2**70, 1.5, "", "x", [], [[]], {}, {"ref": 0}, {"dict": {}}]
        )
    elif kind == 3:
        part[key] = {"ref": choices.randrange(40)}
    elif kind == 4 and isinstance(part[key], int) and not isinstance(part[key], bool):
        part[key] += choices.choice([-1, 1, 100])
    elif isinstance(part, dict):
        part[choices.choice(["node", "x", "ref", "span", "shape", "type_args"])] = part[key]


@pytest.mark.parametrize("seed", range(20))
def test_mutated_documents_load_or_raise_relay_errors(seed):
    choices = random.Random(seed)
    text = save_json(module_with_everything() if seed % 2 else random_module(Seeded(seed), size=20))
    for _ in range(100):
        document = json.loads(text)
        for _ in range(choices.randrange(1, 4)):
            mutations(document, choices)
        try:
            load_json(json.dumps(document))
        except RelayError as error:
            assert len(str(error)) < 500


@pytest.mark.parametrize("seed", range(10))
def test_garbled_text_loads_or_raises_relay_errors(seed):
    choices = random.Random(seed)
    text = save_json(module_with_everything()).encode()
    for _ in range(150):
        garbled = bytearray(text)
        for _ in range(choices.randrange(1, 5)):
            garbled[choices.randrange(len(garbled))] = choices.randrange(256)
        with contextlib.suppress(RelayError):
            load_json(bytes(garbled))


@given(st.recursive(st.none() | st.integers() | st.text() | st.floats(), st.lists, max_leaves=9))
def test_any_json_is_refused_or_loaded(value):
    text = json.dumps({"format": "relay", "version": 1, "nodes": [], "root": value})
    with contextlib.suppress(RelayError):
        load_json(text)


def test_bfloat16_constants_round_trip():
    constant = relay.const(np.array([1.5, -2.0]), "bfloat16")
    loaded = round_trip(constant)
    assert loaded.data.array.dtype == ml_dtypes.bfloat16
    assert loaded.data.array.tolist() == [1.5, -2.0]


# --- pickles and copies


def test_programs_and_their_parts_are_pickled():
    module = random_module(Seeded(3))
    assert_structural_equal(pickle.loads(pickle.dumps(module)), module)
    ty = relay.TensorType((2, relay.Any()), "int8")
    assert pickle.loads(pickle.dumps(ty)) == ty
    deep = relay.var("x", shape=(2,))
    for _ in range(5000):
        deep = relay.negative(deep)
    again = pickle.loads(pickle.dumps(relay.Function([], relay.const(1))))
    assert again.body.data.item() == 1
    assert len(list(tree.postorder(pickle.loads(pickle.dumps(deep))))) == len(
        list(tree.postorder(deep))
    )


def test_what_never_changes_is_not_copied_and_a_module_is():
    module = random_module(Seeded(3))
    copied = copy.deepcopy(module)
    assert copied["main"] is module["main"]
    copied["more"] = relay.Function([], relay.const(1))
    assert "more" not in module
    assert copy.copy(module["main"]) is module["main"]
