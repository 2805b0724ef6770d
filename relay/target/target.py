"""A target: the machine that code is compiled for, and how.

    Target("llvm")                                           this machine
    Target("llvm -mcpu=skylake-avx512")                      another processor of this kind
    Target("llvm -mcpu=x86-64 -mattr=+avx2,+fma")            exactly these extensions
    Target("llvm -level=avx2")                               a level: avx512, avx2, baseline
    Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")   another kind of machine

The first word is the kind: one of `KINDS`, or one that an installed package declares as an entry
point of the group `relay.targets`. A target of any other class is given as an object:
`relay.compile(mod, target=Toy())`.

`Target` is also the base class of all targets, with the methods that the compiler calls; a new kind
overrides what differs. `docs/adding/target.md` shows a complete one.

A target is a value: targets of the same machine are equal, and `Target(str(target))` equals
`target` on every machine.

    with Target("llvm -mcpu=skylake-avx512"):
        lib = relay.build(mod, params=params)

The innermost target is the default of what is compiled inside. It is a context variable, as the
PassContext is, so threads and tasks have their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from relay import settings
from relay.errors import TargetError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from relay.ir.expr import Call, Function
    from relay.ir.module import IRModule
    from relay.target.kernel import Kernel, KernelCode, Scheduled, TensorSpec
    from relay.target.loaded import Loaded
    from relay.te.compute import Tensor
    from relay.te.expr import Extent
    from relay.te.legalize import Facts
    from relay.te.schedule import Schedule

# The kinds of this package, and the class of each, imported on demand.
KINDS: Final = {
    "llvm": "relay.target.llvm.target:LLVMTarget",
    "cuda": "relay.target.cuda.target:CUDATarget",
    "accel": "relay.target.accel.target:AccelTarget",
    "c": "relay.target.c.target:CTarget",
}
# Short names of machines.
SHORT: Final = {"wasm32": "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128"}
ENTRY_POINTS: Final = "relay.targets"  # the group for the kinds of other packages


class TargetKind(str):
    """The kind of a target, such as `llvm`: a string that is its own `name`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)


class Store(Protocol):
    """A cache of compiled code, by the digest of its source."""

    def get_or_make(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The entry for `key`, or else the result of `make`, which becomes the entry."""


class _ByDescription(type):
    """Makes `Target("llvm -mcpu=…")` an instance of the class of its kind."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return described(*args, **options) if cls is Target else super().__call__(*args, **options)


class Target(metaclass=_ByDescription):
    """The base class of all targets.

    `Target(description)` takes a string, a mapping such as {"kind": "llvm"}, or a target. `host` is
    the machine that calls the code.
    """

    kind: ClassVar[TargetKind]
    device: ClassVar[str] = "cpu"  # the kind of `relay.nd.Device` where it computes
    options: ClassVar[Mapping[str, str]] = {}  # that may follow the kind, and their meanings

    def __init__(
        self,
        description: str | Target | Mapping[str, Any] = "llvm",
        host: str | Target | None = None,
    ) -> None:
        pass  # `described` makes targets of descriptions

    @classmethod
    def of_options(cls, options: Mapping[str, str], text: str) -> Target:
        """The target of `<kind> -name=value …`; `text` is the whole description, for errors."""
        return cls(**options)

    def with_host(self, host: Target) -> Target:
        """The same target, called from `host`, or an error."""
        return self

    # --- as a value: a cache key, and text that can be parsed

    def __str__(self) -> str:
        return str(self.kind)

    def __repr__(self) -> str:
        return f'Target("{self}")'

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def is_named(self) -> bool:
        """Whether another process can make it from its text: false for targets given as objects."""
        try:
            return described(str(self)) == self
        except TargetError:
            return False

    # --- the current target

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target of a `with` statement, or None."""
        if entered := _entered.get():
            return entered[-1]
        if not allow_none:
            raise mistake("no target was entered", "none", hint='enter one: with Target("llvm"): …')
        return None

    def __enter__(self) -> Target:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *failure: object) -> None:
        _entered.set(_entered.get()[:-1])

    # --- common machines

    @staticmethod
    def host() -> Target:
        """This machine."""
        return Target("llvm")

    @staticmethod
    def x86(level: str) -> Target:
        """A level of x86-64: `avx512`, `avx2` or `baseline`."""
        return Target(f"llvm -level={level}")

    @staticmethod
    def aarch64(cpu: str = "neoverse-n1") -> Target:
        """A 64-bit ARM machine under Linux."""
        return Target(f"llvm -mtriple=aarch64-unknown-linux-gnu -mcpu={cpu}")

    # --- lowering: primitive functions to kernels

    def narrowed(self, module: IRModule) -> IRModule:
        """The program in the precision that the description asks for; by default its own."""
        return module

    def preferred(self, call: Call) -> Call | None:
        """The call in the fastest layouts of this target, over the same arguments; None to keep
        it."""
        return None

    def refusal(self, function: Function) -> str | None:
        """Why this target does not support a primitive function, or None."""
        return None

    def schedule(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        *,
        threads: bool,
        exact: bool = False,
        plan: str = "",
    ) -> Scheduled:
        """The schedule that computes `outputs` from `inputs`, of which `constants` never change;
        without `threads`, on one thread; `exact`, by no algorithm that rounds otherwise; as a
        `plan` says, one of `plans`, or `plain`. By default each tensor has its own loops."""
        from relay.target.kernel import Scheduled  # not needed to load compiled code
        from relay.te.schedule import create

        return Scheduled((), create(outputs, inputs))

    def plans(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        *,
        exact: bool = False,
    ) -> tuple[str, ...]:
        """Other schedules for the same kernel, as text, which a tuner times (`relay.tune`)."""
        return ()

    @property
    def facts(self) -> Facts | None:
        """Which scalar operations are instructions (`relay.te.legalize`); None: all are."""
        return None

    def generate(
        self,
        name: str,
        schedule: Schedule,
        *,
        checked: bool,
        may_alias: bool,
        sizes: Sequence[Extent],
    ) -> KernelCode:
        """The code of one kernel (`relay.target.kernel`).

        With `checked` it checks every index. With `may_alias` outputs may overlap inputs. `sizes`
        are the dynamic sizes in the shapes of its tensors.
        """
        raise self._unsupported("code for kernels")

    def specialized(
        self,
        name: str,
        schedule: Schedule,
        *,
        may_alias: bool,
        sizes: Sequence[Extent],
        known: Mapping[Extent, int],
    ) -> KernelCode:
        """The code of a kernel for `known` sizes, which is called as that for any is."""
        raise self._unsupported("code for sizes that were seen before")

    def external(
        self, name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> KernelCode:
        """The code of a kernel that calls that of an external compiler (`relay.external`), a
        function over DLPack tensors; `load` finds it in `support`."""
        raise self._unsupported("calls of external compilers")

    def compiler(self) -> Any:
        """The external compiler that functions marked with a description of this target are for
        (`relay.external.ExternalCompiler`), or None."""
        return None

    # --- compiling: the text of kernels to binary code

    @property
    def version(self) -> str:
        """The version of the code generator, in cache keys; if empty, nothing is cached."""
        return ""

    def compile(self, texts: Sequence[str]) -> list[bytes]:
        """The binary code of each text of `generate`, as it is stored and loaded."""
        return [text.encode() for text in texts]

    # --- running

    def require_here(self, what: str) -> None:
        """Raise an error if this process cannot run the code of `what` for this target."""

    def support(self, whole: bool, store: Store | None = None) -> dict[str, bytes]:
        """The runtime that programs need, by name, saved along with them; `whole` for programs with
        functions and branches."""
        return {}

    def load(
        self,
        kernels: Sequence[Kernel],
        code: Sequence[bytes],
        *,
        threads: int,
        support: Mapping[str, bytes],
    ) -> Loaded:
        """Load kernels from the result of `compile`. A call uses at most `threads` threads of the
        host."""
        raise self._unsupported("way to run kernels")

    # --- optional

    @classmethod
    def tensor(cls, data: Any, index: int) -> Any:
        """A copy of a tensor in memory of device `index` of this kind (`relay.nd.array`)."""
        raise TargetError.of(f"there are no tensors on devices of the target `{cls.kind}`")

    def compile_program(self, program: Any, store: Store) -> Any:
        """The code of all functions of a program (`relay.program.native.NativeProgram`); None to
        run it in the virtual machine, which calls kernels."""
        return None

    def executable(self, *parts: Any, **limits: Any) -> Any:
        """An executable of this target, for whole programs or tensors in device memory: arguments
        and result are those of `relay.executors.make.make_executable`. None for the default
        one."""
        return None

    def elsewhere(self, *parts: Any, prepared: Any = None, **kept: Any) -> Any:
        """An executable that this machine cannot run: program, code, weights, threads, and why;
        `prepared` are constants computed from the weights, if known. None for one that is saved
        only."""
        return None

    def specializer(self, primitives: Sequence[Any], options: Any, cache: Any) -> Any:
        """What `Executable.make_versions` of this target makes code for known sizes with."""
        return None

    def export(self, executable: Any, path: Any, kind: str, **options: Any) -> Path:
        """Write a compiled model as a C library (`Executable.export`)."""
        raise self._unsupported("libraries for C")

    def assembly(self, texts: Sequence[str]) -> str:
        """The assembly of texts of `generate`, to read."""
        raise self._unsupported("assembly")

    def _unsupported(self, what: str) -> TargetError:
        return TargetError.of(f"the target `{self}` gives no {what}")


_entered: ContextVar[tuple[Target, ...]] = ContextVar("relay targets", default=())


def wanted(given: str | Target | Mapping[str, Any] | None) -> Target:
    """The given target, or else the current one, that of the settings, or this machine."""
    return described(given or Target.current() or settings.TARGET.read() or "llvm")


# --- reading descriptions


def described(
    description: str | Target | Mapping[str, Any] = "llvm", host: str | Target | None = None
) -> Target:
    """The target of a description."""
    if isinstance(description, Mapping):
        description = _as_text(description)
    if isinstance(description, str):
        made = _parse_text(description)
    elif isinstance(description, Target):
        made = description
    else:
        raise mistake("a target is a string such as `llvm`", description)
    return made if host is None else made.with_host(described(host))


def mistake(
    message: str, found: object, expected: str | None = None, hint: str | None = None
) -> TargetError:
    """The error for an invalid description."""
    return TargetError.of(message, expected=expected, found=str(found), hint=hint)


def _as_text(options: Mapping[Any, Any]) -> Any:
    """{"kind": "llvm", "mattr": ["+avx2"]} -> `llvm -mattr=+avx2`; {"cpu": "llvm"}, which gives
    each device its target, -> `llvm`"""
    if "kind" not in options and [str(device).partition("(")[0] for device in options] == ["cpu"]:
        return next(iter(options.values()))
    words = [str(options.get("kind", ""))]
    for name, value in options.items():
        if name != "kind":
            text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            words.append(f"-{name}={text}")
    return " ".join(words)


def _parse_text(text: str) -> Target:
    """The target of `llvm -mcpu=x -mattr +y`."""
    name, *words = text.split() or [""]
    if not name:
        raise mistake("a target needs a name", repr(text), expected="llvm")
    if name in SHORT:
        name, *before = SHORT[name].split()
        words = [*before, *words]
    kind = _class(name, text)
    found: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        option, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or option not in kind.options:
            raise mistake(
                f"a target has no option `{word}`",
                text,
                expected=", ".join(f"-{known}" for known in kind.options) or "no options",
                hint=did_you_mean(option, kind.options),
            )
        value = value if equals else next(rest, "")
        if not value:
            raise mistake(
                f"the option -{option} needs a value", text, expected=kind.options[option]
            )
        if option in found:
            raise mistake(f"the option -{option} is given twice", text)
        found[option] = value
    return kind.of_options(found, text)


def class_of(name: str) -> type[Target]:
    """The class of the targets of a kind."""
    return _class(name, name)


def _class(name: str, text: str) -> type[Target]:
    """The class of the targets of a kind."""
    if name in KINDS:
        module, _, known = KINDS[name].partition(":")
        found = getattr(importlib.import_module(module), known)
    else:
        from importlib.metadata import entry_points  # slow

        declared = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if name not in declared:
            names = [*KINDS, *declared]
            raise mistake(
                f"there is no target `{name}`",
                text,
                expected=", ".join(names),
                hint=did_you_mean(name, names),
            )
        found = declared[name].load()
    if not (isinstance(found, type) and issubclass(found, Target)):
        raise mistake(
            f"the target `{name}` is declared wrongly", found, "a class derived from Target"
        )
    return found
