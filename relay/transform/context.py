"""PassContext: which passes run, their options, and the instruments that watch them.

    with relay.transform.PassContext(opt_level=3, disabled_pass=["FuseOps"]):
        mod = sequence(mod)

A Sequential runs a pass that is not disabled and either required or of a level not above
`opt_level`. Contexts nest; the innermost one counts alone. This is one of the few places with
ambient state: the stack of contexts is a context variable, so threads and tasks have their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from relay.errors import PassError, did_you_mean
from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.transform.instruments import PassInstrument
from relay.transform.pass_info import PassInfo


class ConfigError(PassError, AttributeError):
    """An option no pass knows, or a value of the wrong type. (Also what old programs catch.)"""


@frozen
class Option:
    """An entry of `PassContext.config`: its type, the value when none is given, and its meaning."""

    type: type
    default: Any
    doc: str
    fixed: bool = False  # nothing reads it: old programs may give the default, and nothing else


_TUNING = "the target chooses schedules; nothing is tuned"

OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "relay.FuseOps.max_depth": Option(int, 256, "the most operators in one fused function"),
        "relay.FuseOps.link_params": Option(bool, False, "keep constants inside fused functions"),
        "relay.ToMixedPrecision.keep_orig_output_dtype": Option(
            bool, False, "convert the results back to the types they had"
        ),
        "relay.remove_standalone_reshapes.enable": Option(
            bool, True, "drop reshapes that are left alone after lowering"
        ),
        "relay.fallback_device_type": Option(int, 1, "1: programs run on the CPU", fixed=True),
        "relay.backend.use_auto_scheduler": Option(bool, False, _TUNING, fixed=True),
        "relay.backend.use_meta_schedule": Option(bool, False, _TUNING, fixed=True),
        "relay.backend.use_meta_schedule_dispatch": Option(int, 0, _TUNING, fixed=True),
        "relay.backend.tir_converter": Option(str, "default", _TUNING, fixed=True),
    }
)
# `relay.ext.<vendor>.options`: whatever the code generator of that vendor understands
EXTERNAL = Option(dict, MappingProxyType({}), "options of an external code generator")


def find_option(name: str) -> Option:
    """The description of option `name`."""
    if name in OPTIONS:
        return OPTIONS[name]
    if name.startswith("relay.ext.") and name.endswith(".options"):
        return EXTERNAL
    hint = did_you_mean(name, OPTIONS) or "PassContext.list_configs() lists the options there are"
    raise ConfigError(f"no pass has an option `{name}`; {hint}")


def _checked(name: str, value: Any) -> Any:
    option = find_option(name)
    if option.type is bool and isinstance(value, int) and value in (0, 1):
        value = bool(value)
    elif option.type is dict and isinstance(value, Mapping):
        value = MappingProxyType(dict(value))
    elif not isinstance(value, option.type) or isinstance(value, bool):
        raise ConfigError(f"option `{name}` takes {option.type.__name__}, found {value!r}")
    if option.fixed and value != option.default:
        raise ConfigError(
            f"option `{name}` can only be {option.default!r}, found {value!r}: {option.doc}"
        )
    return value


class PassContext:
    """What passes run under; enter it with `with`."""

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Sequence[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(opt_level, bool) or not isinstance(opt_level, int):
            raise PassError(f"opt_level is a number, found {opt_level!r}")
        self.opt_level = opt_level
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.instruments = _instruments(instruments)
        self.config: Mapping[str, Any] = MappingProxyType(
            {name: _checked(name, value) for name, value in (config or {}).items()}
        )

    # --- which one

    @staticmethod
    def current() -> PassContext:
        """The innermost context that was entered; outside of all, one with the defaults."""
        if not _entered.get():
            _entered.set((PassContext(),))
        return _entered.get()[-1]

    def __enter__(self) -> PassContext:
        self._enter_instruments()
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *failure: object) -> None:
        _entered.set(_entered.get()[:-1])
        _exit(self.instruments or ())

    # --- options

    @staticmethod
    def list_configs() -> dict[str, dict[str, Any]]:
        """Every option by name, with `type`, `default` and `doc`."""
        return {
            name: {"type": option.type.__name__, "default": option.default, "doc": option.doc}
            for name, option in OPTIONS.items()
        }

    def option(self, name: str) -> Any:
        """The value of an option here: as given, or its default."""
        return self.config[name] if name in self.config else find_option(name).default

    # --- which passes

    def enables(self, info: PassInfo) -> bool:
        """Whether a Sequential runs the pass here."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    # --- instruments

    def override_instruments(self, instruments: Sequence[PassInstrument] | None) -> None:
        """Put other instruments in place of those of this context, which are exited first."""
        wanted = _instruments(instruments)
        previous, self.instruments = self.instruments, None
        _exit(previous or ())
        self.instruments = wanted
        try:
            self._enter_instruments()
        except BaseException:
            self.instruments = None
            raise

    def _enter_instruments(self) -> None:
        entered: list[PassInstrument] = []
        try:
            for instrument in self.instruments or ():
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            _exit(entered)
            raise

    def should_run(self, module: IRModule, info: PassInfo) -> bool:
        """Whether no instrument vetoes the pass; a required one is not asked about."""
        if info.name in self.required_pass:
            return True
        answers = []
        for instrument in self.instruments or ():
            with _noting(f"in {type(instrument).__name__}.should_run for pass `{info.name}`"):
                answers.append(instrument.should_run(module, info))
        return all(answer is None or answer for answer in answers)

    def watch(self, work: Callable[[], IRModule], module: IRModule, info: PassInfo) -> IRModule:
        """`work()`, which is pass `info` on `module`, with the instruments called around it."""
        told: deque[PassInstrument] = deque()
        try:
            for instrument in self.instruments or ():
                with _noting(f"in {type(instrument).__name__}.run_before_pass"):
                    instrument.run_before_pass(module, info)
                told.append(instrument)
            result = work()
            for instrument in tuple(told):
                told.popleft()
                with _noting(f"in {type(instrument).__name__}.run_after_pass"):
                    instrument.run_after_pass(result, info)
        except Exception as error:
            error.add_note(f"in pass `{info.name}`")
            for instrument in told:
                instrument.pass_failed(module, info, error)
            raise
        return result

    def __repr__(self) -> str:
        return (
            f"PassContext(opt_level={self.opt_level}, required_pass={sorted(self.required_pass)}, "
            f"disabled_pass={sorted(self.disabled_pass)}, instruments={self.instruments}, "
            f"config={dict(self.config)})"
        )


_entered: ContextVar[tuple[PassContext, ...]] = ContextVar("relay pass contexts", default=())


@contextmanager
def _noting(where: str) -> Iterator[None]:
    """Let an error pass with a note of where it came from."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise


def _exit(instruments: Iterable[PassInstrument]) -> None:
    """Exit all of them, also when one fails; the first failure is raised in the end."""
    failures: list[Exception] = []
    for instrument in instruments:
        try:
            instrument.exit_pass_ctx()
        except Exception as error:
            failures.append(error)
    if failures:
        for later in failures[1:]:
            failures[0].add_note(f"another instrument failed to exit as well: {later!r}")
        raise failures[0]


def _names(what: str, given: Iterable[str] | None) -> frozenset[str]:
    if isinstance(given, str):
        raise PassError(f"{what} is a list of pass names, found {given!r}; write [{given!r}]")
    names = frozenset(given or ())
    for name in names:
        if not isinstance(name, str):
            raise PassError(f"{what} is a list of pass names, found {name!r} in it")
    return names


def _instruments(given: Sequence[PassInstrument] | None) -> tuple[PassInstrument, ...] | None:
    if given is None:
        return None
    for instrument in given:
        if not isinstance(instrument, PassInstrument):
            raise PassError(
                f"{instrument!r} is not an instrument; decorate its class with "
                "relay.transform.pass_instrument, and pass an object of it"
            )
    return tuple(given)
