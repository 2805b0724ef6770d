"""The runtime that programs need (`relay.native`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from relay.native.runtime import portable, runtime, runtime_object, runtime_texts
from relay.target.llvm.target import LLVMTarget
from relay.target.target import Store

if TYPE_CHECKING:
    from relay.external.functions import ExternalFunction
    from relay.target.kernel import Kernel

RUNTIME: Final = "runtime.o"
PROGRAM_RUNTIME: Final = "program_runtime.o"  # in addition, for whole programs


def support(target: LLVMTarget, whole: bool, store: Store | None) -> dict[str, bytes]:
    """The object files of the runtime for `target`."""
    plain = portable(target)

    def kept(texts: list[str], make: Callable[[LLVMTarget], bytes]) -> bytes:
        if store is None:
            return make(plain)
        from relay.cache.objects import key_of  # not needed to load compiled code

        return store.get_or_make(key_of(texts, plain), lambda: make(plain))

    found = {RUNTIME: kept(runtime_texts(plain), runtime_object)}
    if whole:
        from relay.native.call import program_runtime_object, program_runtime_text

        found[PROGRAM_RUNTIME] = kept([program_runtime_text(plain)], program_runtime_object)
    return found


def externals(
    kernels: Sequence[Kernel], support: Mapping[str, bytes]
) -> dict[str, ExternalFunction]:
    """The code of external compilers, by the names of the kernels that call it."""
    if not any(kernel.compiler for kernel in kernels):
        return {}
    from relay.external.functions import load_functions

    return load_functions(kernels, support)


def imports_of(functions: Mapping[str, ExternalFunction]) -> dict[str, int]:
    """The addresses of these functions, by the names that kernels know."""
    if not functions:
        return {}
    from relay.target.llvm.external import symbol_of

    return {symbol_of(name): function.address for name, function in functions.items()}


def start(support: Mapping[str, bytes]) -> None:
    """Load the runtime from these object files, unless it is loaded."""
    runtime(support.get(RUNTIME))
    if PROGRAM_RUNTIME in support:
        from relay.native.call import program_runtime

        program_runtime(support[PROGRAM_RUNTIME])
