"""The language: dimensions, types, expressions, modules, and what compares and prints them.

Names people use as `relay.ir.X` are resolved on first use. Three of them live in layers above this
one (`relay.serialize`, `relay.op`): they are known under `relay.ir` for the sake of programs that
come from elsewhere, and resolving them late keeps the layers from importing each other.
"""

from relay.late_names import late_names

__all__, __getattr__, __dir__ = late_names(
    __name__,
    {
        "relay.ir": ("diagnostics",),
        "relay.errors": ("SequentialSpan", "SourceName", "Span"),
        "relay.ir.adt": ("TypeData",),
        "relay.ir.attrs": ("Attrs", "DictAttrs"),
        "relay.ir.compare": ("assert_structural_equal", "structural_equal", "structural_hash"),
        "relay.ir.expr": ("Constructor", "GlobalVar", "Op"),
        "relay.ir.module": ("IRModule",),
        "relay.ir.types": (
            "FuncType",
            "GlobalTypeVar",
            "IncompleteType",
            "RefType",
            "TensorType",
            "TupleType",
            "Type",
            "TypeCall",
            "TypeKind",
            "TypeRelation",
            "TypeVar",
        ),
        "relay.op.opdef": ("register_op_attr",),
        "relay.serialize": ("load_json", "save_json"),
    },
)
