"""Scripts of torch against eager torch, in the interpreter and compiled."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import relay
from relay import nd
from relay.frontend import from_pytorch
from relay.interpreter.values import ConstructorValue, TupleValue
from tests.support.python_values import to_python


def arrays(value: Any) -> Any:
    """A result as nested lists of arrays."""
    if isinstance(value, torch.Tensor):
        found = value.detach().resolve_conj()
        return (torch.view_as_real(found) if found.is_complex() else found).numpy()
    if value is None or isinstance(value, str):
        return []
    if isinstance(value, Mapping):
        return [arrays(one) for one in value.values()]
    if isinstance(value, ConstructorValue):
        value = to_python(value)
        return [] if value is None else arrays(value)
    if isinstance(value, list | tuple | TupleValue):
        return [arrays(one) for one in value]
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


def agree(found: Any, wanted: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    """Compare nested results."""
    if isinstance(wanted, list):
        assert isinstance(found, list), (found, wanted)
        assert len(found) == len(wanted), (found, wanted)
        for one, other in zip(found, wanted, strict=True):
            agree(one, other, rtol, atol)
        return
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    assert found.dtype == wanted.dtype or wanted.dtype == np.float64, (found.dtype, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def check(
    script: Any,
    *calls: Sequence[Any],
    infos: Sequence[Any] | None = None,
    compiled: bool = False,
    rtol: float = 1e-5,
) -> Any:
    """A script gives what torch gives for each call, one after another; what runs it."""
    if not isinstance(script, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        script = torch.jit.script(script)
    eager = copy.deepcopy(script) if isinstance(script, torch.jit.ScriptModule) else script
    mod, params = from_pytorch(script, infos if infos is not None else list(calls[0]))
    runner = Interpreted(mod, params)
    if compiled:
        runner = Compiled(relay.compile(mod, params), runner.count)
    for call in calls:
        wanted = eager(*copy.deepcopy(list(call)))
        given = [plain(one) for one in call][: runner.count]
        agree(arrays(runner(*given)), arrays(wanted), rtol, rtol)
    return runner


def plain(value: Any) -> Any:
    """An argument for an executable."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    return type(value)(map(plain, value)) if isinstance(value, list | tuple) else value


class Interpreted:
    """A module in the interpreter, which threads its state."""

    def __init__(self, mod: Any, params: Mapping[str, Any]) -> None:
        self.module, main = mod, mod["main"]
        self.state_names = main.state_names
        self.params = dict(params)
        self.names = [one.name_hint for one in main.params]
        self.count = len([name for name in self.names if name not in params])
        self.run = relay.create_executor("debug", mod).evaluate()

    def value(self, one: Any, ty: Any) -> Any:
        """Python's lists as lists or tuples of Relay."""
        if isinstance(ty, relay.TupleType):
            return TupleValue([*map(self.value, one, ty.fields)])
        if not isinstance(one, list):
            return nd.array(one)
        cons, nil = (self.module.get_constructor(name) for name in ("Cons", "Nil"))
        found = ConstructorValue(nil.tag, (), nil)
        for part in reversed(one):
            found = ConstructorValue(cons.tag, (self.value(part, ty.args[0]), found), cons)
        return found

    def __call__(self, *given: Any) -> Any:
        rest = iter(given)
        args = [
            self.params[one.name_hint]
            if one.name_hint in self.params
            else self.value(next(rest), one.checked_type)
            for one in self.module["main"].params
        ]
        found = self.run(*args)
        if not self.state_names:
            return found
        result, *state = found
        self.params.update(zip(self.state_names, state, strict=True))
        return result


class Compiled:
    """A compiled module."""

    def __init__(self, executable: Any, count: int) -> None:
        self.executable, self.count = executable, count

    def __call__(self, *given: Any) -> Any:
        return self.executable(*given)
