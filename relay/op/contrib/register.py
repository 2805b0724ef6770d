"""External compilers by name: the patterns they know, and the compilers themselves.

    @register_pattern_table("dnnl")
    def patterns():
        return [("dnnl.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]

    mod = relay.transform.MergeComposite(get_pattern_table("dnnl"))(mod)

    register_compiler(Dnnl())      a `relay.external.ExternalCompiler`, which brings its patterns

Like operators, they are registered in the whole process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from relay.errors import RelayError

# (name, pattern) or (name, pattern, check)
Table = Sequence[tuple[Any, ...]]
Maker = TypeVar("Maker", bound=Callable[[], Table])

_tables: dict[str, Callable[[], Table]] = {}
_compilers: dict[str, Any] = {}


def register_pattern_table(compiler: str, table: Maker | None = None) -> Any:
    """Register the table that `table` makes for a compiler; without it, a decorator.

    A later table replaces an earlier one.
    """
    if not isinstance(compiler, str):
        raise RelayError(f"a compiler is known by its name, found {compiler!r}")

    def register(maker: Maker) -> Maker:
        if not callable(maker):
            raise RelayError(
                f"the pattern table of `{compiler}` must be a function that makes it, "
                f"found a {type(maker).__name__}"
            )
        _tables[compiler] = maker
        return maker

    return register if table is None else register(table)


def get_pattern_table(compiler: str) -> Table | None:
    """The table of that compiler; None if there is none."""
    maker = _tables.get(compiler)
    return None if maker is None else maker()


def register_compiler(compiler: Any) -> Any:
    """Register a `relay.external.ExternalCompiler` by its name; a later one replaces an earlier."""
    _compilers[compiler.name] = compiler
    return compiler


def registered_compilers() -> dict[str, Any]:
    """The compilers that were registered, by name."""
    return dict(_compilers)
