"""`tvm.ir`: types, modules, equality, and what passes are made with."""

from relay.compat.tvm.modules import PLACE
from relay.compat.tvm.names import module_names

__path__ = [PLACE]

_NAMES = """
relay IRModule GlobalVar Op RelayError Span SourceName save_json load_json TensorType TupleType
relay FuncType TypeVar GlobalTypeVar TypeCall TypeKind IncompleteType RelayRefType TypeRelation
relay Constructor Attrs
relay.ir structural_equal assert_structural_equal structural_hash
relay.op register_op_attr
"""
_PLACES = {
    name: f"{home}:{name}"
    for home, *names in map(str.split, _NAMES.strip().splitlines())
    for name in names
}

__getattr__, __dir__ = module_names(
    "tvm.ir",
    {
        **_PLACES,
        "instrument": "relay.compat.tvm.instrument",
        "module": "relay.ir.module",
        "transform": "relay.transform",
    },
    {"PrimExpr": "dimensions are relay.ShapeVar, relay.Any and numbers"},
)
