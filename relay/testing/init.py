"""Initial values for the parameters of networks, and workloads made of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, Protocol

import numpy as np

from relay import dtypes, nd
from relay.check.infer import infer_module
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.types import TensorType

P = ParamSpec("P")
Workload = tuple[IRModule, dict[str, nd.NDArray]]  # a network and its parameters


class Initializer(Protocol):
    """Makes the values of one parameter."""

    def __call__(
        self, name: str, shape: tuple[int, ...], random: np.random.Generator
    ) -> np.ndarray: ...


# Constant values by the suffix of the parameter's name; all others are weights.
CONSTANTS = {"bias": 0.0, "gamma": 1.0, "beta": 0.0, "mean": 0.0, "var": 1.0}


@frozen
class Xavier:
    """Weights that preserve the variance of activations (Glorot and Bengio 2010).

    rnd_type: "uniform" or "gaussian"
    factor_type: divisor of the variance: fan-in ("in"), fan-out ("out") or their mean ("avg")
    magnitude: numerator of the variance
    """

    rnd_type: str = "uniform"
    factor_type: str = "avg"
    magnitude: float = 3.0

    def __call__(
        self, name: str, shape: tuple[int, ...], random: np.random.Generator
    ) -> np.ndarray:
        for ending, value in CONSTANTS.items():
            if name.endswith(ending):
                return np.full(shape, value)
        if len(shape) < 2:
            raise RelayError(
                f"parameter `{name}` of shape {shape} is no weight and has no known ending; "
                f"names end in {', '.join(CONSTANTS)}, or give create_workload an initializer"
            )
        receptive = int(np.prod(shape[2:]))
        inputs, outputs = shape[1] * receptive, shape[0] * receptive
        factors = {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}
        scale = np.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type == "uniform":
            return random.uniform(-scale, scale, shape)
        return random.normal(0, scale, shape)


def create_workload(
    net: Expr | IRModule,
    initializer: Initializer | None = None,
    seed: int = 0,
    inputs: Sequence[str] = ("data",),
) -> Workload:
    """A typed module with `net` as main, and values for every parameter except `inputs`."""
    module = infer_module(net if isinstance(net, IRModule) else IRModule.from_expr(net))
    initializer = initializer or Xavier()
    random = np.random.default_rng(seed)
    params: dict[str, nd.NDArray] = {}
    for param in module["main"].params:
        ty: Any = param.checked_type
        if param.name_hint in inputs:
            continue
        if not isinstance(ty, TensorType):
            raise RelayError(f"parameter `%{param.name_hint}` is not a tensor: {ty}")
        values = initializer(param.name_hint, ty.concrete_shape, random)
        params[param.name_hint] = nd.array(values.astype(dtypes.to_numpy(ty.dtype)))
    return module, params


def workload(
    get_net: Callable[P, Expr | IRModule], inputs: Sequence[str] = ("data",)
) -> Callable[P, Workload]:
    """`get_workload` of a network: takes the arguments of `get_net`."""

    @wraps(get_net, assigned=("__module__", "__doc__"))
    def get_workload(*args: P.args, **kwargs: P.kwargs) -> Workload:
        return create_workload(get_net(*args, **kwargs), inputs=inputs)

    return get_workload
