"""A script as a module of Relay: inputs, state, results.

    mod, params = from_script(torch.jit.script(model), [("x", (1, 3)), ("n", ((), "int64"))])

What a call changes in the model is found by converting the program with the initial values as
constants; then it becomes state, and the program is converted again, until nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from relay.check.infer import infer_module
from relay.errors import FrontendError, SourceName, Span
from relay.frontend.common import converters as common
from relay.frontend.common.naming import quoted
from relay.frontend.pytorch.converters import built_in
from relay.frontend.pytorch.scope import TorchScope
from relay.frontend.pytorch.script import (
    calls,
    containers,
    failing,
    numbers,
    objects,
    tensors,
    texts,
)
from relay.frontend.pytorch.script.boundary import described, inward, outer_type, outward
from relay.frontend.pytorch.script.calling import convention_of
from relay.frontend.pytorch.script.coding import encoded, form_of
from relay.frontend.pytorch.script.converter import Converter, Handler, Unsupported
from relay.frontend.pytorch.script.forms import Form, TensorForm, join
from relay.frontend.pytorch.script.graph import Block, program_of, schema_of
from relay.frontend.pytorch.script.merging import held
from relay.frontend.pytorch.script.model import Model
from relay.frontend.pytorch.script.path import Path, packed, packed_type
from relay.frontend.pytorch.script.state import initial, kept, kept_form, restored, tensors_of
from relay.frontend.pytorch.script.survey import survey
from relay.frontend.pytorch.script.values import Attribute, Stale
from relay.immutable import frozen
from relay.ir.dims import Symbol, atoms
from relay.ir.expr import Expr, Function, Tuple, Var
from relay.ir.function_attrs import CONVENTION, STATE
from relay.ir.module import IRModule
from relay.ir.types import TupleType, TypeVar
from relay.ir.variables import free_type_vars
from relay.nd import NDArray
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions

SPAN = Span(SourceName("the result of the script"))
MOST_ROUNDS = 20  # until all state is found


def is_script(model: Any) -> bool:
    """Whether a model is a program of TorchScript."""
    return isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction)


def from_script(
    model: Any, inputs: Sequence[Any] | None, operators: Sequence[common.Converters] = ()
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of a script, and its parameters and state by the names that the model has.

    `inputs` are pairs of a name and a description: a shape, a shape and an element type, a type of
    Relay, or an example; or only examples. A number or a string as an example is a constant.
    """
    importer = Importer(model, (*operators, *built_in()))
    importer.describe(inputs)
    for _ in range(MOST_ROUNDS):
        found = importer.round()
        if found is not None:
            return found
    raise FrontendError.of("what the model keeps between calls is of ever new kinds")


def _handlers() -> Mapping[str, Handler]:
    """All handlers of calls, by kind."""
    found: dict[str, Handler] = {}
    for file in (containers, failing, numbers, objects, tensors, texts):
        found.update(file.table.table)
    return found


@frozen
class Input:
    """A parameter of the program that callers give."""

    name: str  # for callers
    parameter: str  # in the program
    form: Form


@dataclass
class Importer:
    """The import of a script."""

    script: Any
    tables: Sequence[common.Converters]
    program: Block = field(init=False)
    owner: Any = field(init=False)  # torch's module, None for a function
    writes: bool = field(init=False)
    inputs: list[Input] = field(default_factory=list)
    state: dict[str, Form] = field(default_factory=dict)
    handles: dict[str, Any] = field(default_factory=dict)  # initial values of the state

    def __post_init__(self) -> None:
        is_function = isinstance(self.script, torch.jit.ScriptFunction)
        self.owner = None if is_function else self.script._c
        if not is_function and not self.owner._has_method("forward"):
            raise FrontendError.of("the script has no method `forward`")
        method = self.script if is_function else self.owner._get_method("forward")
        self.schema = method.schema
        self.program = program_of(method.graph)
        self.writes = any(_writes_tensor(call.schema) for call in self.program.everything())

    # --- inputs

    def describe(self, given: Sequence[Any] | None) -> None:
        """Read the descriptions of inputs."""
        if not isinstance(given, list | tuple | type(None)):
            found = type(given).__name__
            raise FrontendError.of("inputs are given as a list", expected=_EXPECTED, found=found)
        skipped = 0 if self.owner is None else 1
        parameters = self.program.parameters[skipped:]
        types = self.program.types[skipped:]
        arguments = self.schema.arguments[-len(parameters) :] if parameters else []
        infos = [*(given or ())]
        if len(infos) > len(parameters):
            expected = f"{len(parameters)}"
            raise FrontendError.of("too many inputs are given", None, expected, f"{len(infos)}")
        names: set[str] = set()
        for place, (parameter, kind) in enumerate(zip(parameters, types, strict=True)):
            name, info = parameter.partition(".")[0], None
            argument = arguments[place] if place < len(arguments) else None
            if place < len(infos):
                info = infos[place]
                if isinstance(info, tuple) and len(info) == 2 and isinstance(info[0], str):
                    name, info = info
            elif argument is not None and argument.has_default_value():
                info = argument.default_value
            else:
                text = f"input {quoted(name)} is not described"
                raise FrontendError.of(text, expected=_EXPECTED, found=f"{len(infos)} inputs")
            if name in names:
                raise FrontendError.of(f"two inputs have the name {quoted(name)}")
            names.add(name)
            self.inputs.append(Input(name, parameter, described(name, info, kind)))

    # --- rounds

    def round(self) -> tuple[IRModule, dict[str, NDArray]] | None:
        """The module; None if there is more state than was known."""
        module = Prelude().mod
        root = Path(TorchScope(module))
        variables, values = self._enter(root)
        kept_names: list[str] = []
        kept_vars: list[Var] = []
        entered: dict[str, list[Expr]] = {}
        for name, form in self.state.items():
            own = [Var(one, ty) for one, ty in tensors_of(name, form)]
            kept_names += [one.name_hint for one in own]
            kept_vars += own
            entered[name] = restored(root, [*own], form)
        model = Model(root, self.writes, self.state, entered)
        converter = Converter(model, self.tables, _handlers(), calls.operator)
        body = root.inner()
        if self.owner is not None:
            values = [model.module(self.owner, ""), *values]
        try:
            results = converter.convert(body, self.program, values)
        except Unsupported as error:
            raise survey(self.program, self.tables, converter.handlers) from error
        if results is None:
            results = [None]
        if self._finds_state(model, body):
            return None
        outputs, types = [], []
        for result in results:
            value, ty = outward(body, result, SPAN)
            outputs.append(value)
            types.append(ty)
        result, result_type = packed(outputs), packed_type(types)
        if self.state:
            after, after_types = self._leave(body, model)
            result = Tuple((result, *after))
            result_type = TupleType((result_type, *after_types))
        root.absorb(body)
        whole = root.close([result], [result_type])
        parameters = (*variables, *kept_vars, *model.weights)
        plain = Function(parameters, whole, result_type)
        main = Function(parameters, whole, result_type, tuple(_type_vars(plain)))
        params = dict(model.params)
        given = [(one.name, one.form) for one in self.inputs]
        forms = [form_of(body, result, SPAN) for result in results]
        main = main.with_attr(CONVENTION, convention_of(given, forms).to_text())
        if self.state:
            main = main.with_attr(STATE, tuple(kept_names))
            for name, form in self.state.items():
                arrays = initial(form, self.handles[name])
                names = [one for one, _ in tensors_of(name, form)]
                params.update(zip(names, map(NDArray, arrays), strict=True))
        module["main"] = main
        return infer_module(RemoveUnusedFunctions()(module)), params

    def _enter(self, root: Path) -> tuple[list[Var], list[Any]]:
        """Parameters of `main` for the inputs, and the values of the program's."""
        variables, values = [], []
        for one in self.inputs:
            if not one.form.leaves():
                values.append(inward(root, Var("nothing"), one.form))
                continue
            variable = Var(one.name, outer_type(one.form))
            variables.append(variable)
            if isinstance(one.form, TensorForm):
                for axis, size in enumerate(one.form.type.shape):
                    if isinstance(size, Symbol):
                        root.scope.sources.setdefault(size, (variable, axis))
            values.append(inward(root, variable, one.form))
        return variables, values

    def _finds_state(self, model: Model, body: Path) -> bool:
        """Whether the program changes what the model holds in ways that were not known."""
        changed: dict[Attribute, None] = {}
        for place in body.changed():
            owner = place if isinstance(place, Attribute) else model.owners.get(place)
            if owner is not None:
                changed[owner] = None
        found = False
        for place in changed:
            name = place.path
            if isinstance(content := body.get(place), Stale):
                raise FrontendError.of(
                    f"the attribute {quoted(name)} is changed", found=content.reason
                )
            before = self.state.get(name)
            if before is None:
                handle = place.module.handle.getattr(place.name)
                fresh = model.value(handle, Attribute(place.module, f"{place.name} before"), None)
                before = form_of(model.root, fresh, SPAN)
                self.handles[name] = handle
            after = kept_form(join(kept_form(before), form_of(body, content, SPAN)))
            if after != self.state.get(name) and (name in self.state or after.leaves()):
                self.state[name] = after
                found = True
        return found

    def _leave(self, body: Path, model: Model) -> tuple[list[Expr], list[Any]]:
        """The new values of the state, and their types."""
        found: list[Expr] = []
        types: list[Any] = []
        for name, form in self.state.items():
            place = next((p for p in model.root.contents if _is(p, name)), None)
            value = body.get(place)
            leaves = encoded(body, held(body, place) if place is None else value, form, SPAN)
            found += kept(body, leaves, form)
            types += [ty for _, ty in tensors_of(name, form)]
        return found, types


def _is(place: Any, name: str) -> bool:
    return isinstance(place, Attribute) and place.path == name


def _type_vars(function: Function) -> list[TypeVar]:
    return [*free_type_vars(function)]


def _writes_tensor(schema: str) -> bool:
    return "!)" in schema and schema_of(schema).writes is not None


_EXPECTED = '[("name", (1, 3, 224, 224)), ("length", ((), "int64"))], or examples'

__all__ = ["atoms", "from_script", "is_script"]
