"""Weights: parameters of `main` with values at compile time.

def @main(%x, %w) { nn.dense(%x, %w) }
named_weights      ->   the same, `%w` marked as a weight: it is prepared once per executable
constant_weights   ->   def @main(%x) { nn.dense(%x, meta[Weight]["w"]) }, in whole programs
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from relay import nd, tree
from relay.errors import RelayError
from relay.ir.attrs import DictAttrs
from relay.ir.entry import with_main_apart
from relay.ir.expr import Constant, Function, Var, bind
from relay.ir.function_attrs import PRIMITIVE, WEIGHTS
from relay.ir.module import IRModule
from relay.ir.parameters import bind_params_by_name

log = logging.getLogger("relay")

# Attributes of functions that passes skip.
KEEP_OFF = (PRIMITIVE, "Composite", "Compiler", "Extern", "SkipOptimization")
NEAR = 0.75  # the similarity, from 0 to 1, above which an unknown name is taken for a typo


def given_weights(main: Function, *params: Mapping[str, Any] | None) -> dict[str, nd.NDArray]:
    """The weights among `params`, checked and copied; later mappings override earlier ones."""
    given: dict[str, Any] = {}
    for each in params:
        if each is not None and not isinstance(each, Mapping):
            found = type(each).__name__
            raise RelayError(f"`params` is a mapping of names to arrays, found a {found}")
        given.update(each or {})
    _check_names(given, main)
    weights: dict[str, nd.NDArray] = {}
    for param in main.params:
        name = param.name_hint
        if name not in given:
            continue
        if name in weights:
            raise RelayError(f"several parameters of `@main` are called `{name}`, like a weight")
        constant = bind_params_by_name(Function((param,), param), {name: given[name]}).body
        assert isinstance(constant, Constant)
        weights[name] = constant.data
    return weights


def _check_names(params: Mapping[str, Any], main: Function) -> None:
    """Refuse likely typos of a parameter without a value; other unknown names are ignored, since
    weights may be for several functions."""
    names = {param.name_hint for param in main.params}
    unknown = [name for name in params if name not in names]
    if not unknown:
        return
    from difflib import get_close_matches

    left = {name.casefold(): name for name in names if name not in params}
    for name in unknown:
        if close := get_close_matches(str(name).casefold(), left, n=1, cutoff=NEAR):
            raise RelayError(
                f"`@main` has no parameter `{name}`, and `{left[close[0]]}` has no value; "
                f"did you mean `{left[close[0]]}`? leave out what is no weight of this model"
            )
    log.warning("`@main` has no parameters for the weights %s", ", ".join(map(str, unknown)))


def named_weights(module: IRModule, weights: Mapping[str, nd.NDArray]) -> IRModule:
    """The module with parameters of `main` marked as weights; it is changed in place."""
    main: Function = module["main"]
    # a weight has a static shape even if its parameter does not
    typed = {
        param: Var(param.name_hint, Constant(weights[param.name_hint]).tensor_type, span=param.span)
        for param in main.params
        if param.name_hint in weights
    }
    if typed:
        body = bind(main.body, typed)
        renamed = tuple(typed.get(param, param) for param in main.params)
        main = tree.replace(main, params=renamed, body=body, ret_type=None)
        module["main"] = main.with_attr(WEIGHTS, tuple(weights))
    return module


def constant_weights(module: IRModule, weights: Mapping[str, nd.NDArray]) -> IRModule:
    """The module with weights in place of parameters of `main`; it is changed in place."""
    module = named_weights(with_main_apart(module), weights)
    main: Function = module["main"]
    known = {
        param: Constant(nd.Weight(name, weights[name].array), span=param.span)
        for param in main.params
        if (name := param.name_hint) in weights
    }
    if known:
        main = tree.replace(bind(main, known), ret_type=None)
    # `main` is compiled like any function, and its weights are constants now
    gone = (WEIGHTS, *KEEP_OFF)
    kept = {name: value for name, value in main.attrs.items() if name not in gone}
    module["main"] = tree.replace(main, attrs=DictAttrs(kept))
    return module


def arrays(values: Mapping[str, nd.NDArray]) -> dict[str, np.ndarray]:
    """Tensors as NumPy arrays."""
    return {name: value.array for name, value in values.items()}
