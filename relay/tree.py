"""Immutable nodes and the one way to walk them, for every tree in the project.

A node is a frozen dataclass compared by identity: sharing a node means computing it once. Its
children are the fields whose type is of the node's family (`Expr`, `Type`, …), alone or in a tuple,
so no node writes its own visitor. Nothing here recurses: programs nest deeper than Python's stack.

    children(n)          the nodes directly below n
    postorder(n)         every distinct node below n and n itself, children first, each once
    rebuild(n, kids)     n with other children; n itself when they are the same objects
    transform(n, f)      n rewritten bottom-up by f(before, after)
    run(steps)           drive a generator that yields sub-computations: recursion without a stack
    gather(steps)        the results of several such computations
    without_collection() a context without garbage collection, for code that makes many nodes
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from functools import cache
from operator import attrgetter, is_not
from types import GeneratorType
from typing import (
    Any,
    ClassVar,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from relay.immutable import immutable

T = TypeVar("T")
N = TypeVar("N", bound="Node")


class Node:
    """Anything that lives in a tree. A family (Expr, Type, …) names its root in `family`."""

    __slots__ = ()
    family: ClassVar[type[Node]]

    def same_as(self, other: object) -> bool:
        """Whether it is the same node: `==` on types asks whether they are equal."""
        return self is other

    def __copy__(self: T) -> T:
        return self  # what never changes needs no copy

    def __deepcopy__(self: T, memo: object) -> T:
        return self


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """Immutable, compared by identity."""
    return immutable(cls, weakref_slot=True)


class ChildField(NamedTuple):
    """A field that holds children: their class, and whether they are a tuple or may be None."""

    name: str
    kind: type[Node]
    many: bool
    optional: bool


@cache
def child_fields(cls: Any) -> tuple[ChildField, ...]:
    """The fields of a class of nodes that hold children, in order."""
    hints = get_type_hints(cls)
    found = []
    for f in fields(cls):
        hint = hints[f.name]
        options = get_args(hint) if get_origin(hint) not in (tuple, None) else (hint,)
        for option in options:
            many = get_origin(option) is tuple
            kind = get_args(option)[0] if many else option
            if isinstance(kind, type) and issubclass(kind, cls.family):
                found.append(ChildField(f.name, kind, many, type(None) in options))
                break
    return tuple(found)


@cache
def own_fields(cls: Any) -> tuple[str, ...]:
    """The fields that are arguments of the class, in order; the others are memos."""
    return tuple(f.name for f in fields(cls) if f.init)


def children(parent: N) -> list[N]:
    """The nodes directly below, in field order (binders come before what they bind)."""
    cls: Any = type(parent)
    return _getter(cls)(parent)


@cache
def _getter(cls: Any) -> Callable[[Any], list[Any]]:
    """`children` for one class: nearly all of them hold a fixed number, or one tuple."""
    found = child_fields(cls)
    if not found:
        return lambda parent: []
    if any(f.optional for f in found):
        return _present_children
    get = attrgetter(*(f.name for f in found))
    match tuple(f.many for f in found):
        case (False,):
            return lambda parent: [get(parent)]
        case (True,):
            return lambda parent: list(get(parent))
        case (False, True):
            return lambda parent: (lambda one, some: [one, *some])(*get(parent))
        case (True, False):
            return lambda parent: (lambda some, one: [*some, one])(*get(parent))
        case shape if not any(shape):
            return lambda parent: list(get(parent))
    return _present_children


def _present_children(parent: N) -> list[N]:
    found: list[N] = []
    cls: Any = type(parent)
    for name, _, many, _ in child_fields(cls):
        value = getattr(parent, name)
        if value is not None:
            found.extend(value if many else (value,))
    return found


def replace(original: N, **changes: Any) -> N:
    """A copy with some fields changed; memos (fields that are not arguments) start afresh."""
    cls: Any = type(original)
    values = {name: getattr(original, name) for name in own_fields(cls)}
    values.update(changes)
    return cls(**values)  # type: ignore[no-any-return]


def rebuild(original: N, new: Sequence[N]) -> N:
    """`original` over the children `new` (as many as it has); itself when they are its own."""
    changes: dict[str, Any] = {}
    position = 0
    cls: Any = type(original)
    for name, _, many, _ in child_fields(cls):
        value = getattr(original, name)
        if value is None:
            continue
        if many:
            part = tuple(new[position : position + len(value)])
            position += len(value)
            if any(map(is_not, part, value)):
                changes[name] = part
        else:
            if new[position] is not value:
                changes[name] = new[position]
            position += 1
    if position != len(new):
        raise ValueError(f"{type(original).__name__} has {position} children, not {len(new)}")
    return replace(original, **changes) if changes else original


def postorder(root: N, enter: Callable[[N], bool] | None = None) -> Iterator[N]:
    """Every distinct node once, children before parents.

    `enter(node)` False leaves out what is below that node (the node itself is still yielded).
    """
    seen: set[int] = set()
    stack: list[Any] = [root]
    getter: Any = _getter
    pop, push, note = stack.pop, stack.append, seen.add  # every pass walks through here
    while stack:
        current = pop()
        if current is None:  # what is below the node under it is done
            yield pop()
            continue
        key = id(current)
        if key in seen:
            continue
        note(key)
        below = getter(type(current))(current) if enter is None or enter(current) else None
        if not below:
            yield current
            continue
        push(current)
        push(None)
        below.reverse()
        stack += below


def transform(root: N, f: Callable[[Any, Any], Any], memo: Mapping[Any, Any] | None = None) -> N:
    """Rewrite bottom-up: `f(before, after)` gets a node and its copy over rewritten children.

    Sharing is kept: each node is rewritten once. `memo` seeds replacements that are not entered.
    The result has the class of `root` as long as `f` keeps it.
    """
    done: dict[int, Any] = {id(key): value for key, value in memo.items()} if memo else {}
    stack: list[tuple[Any, list[Any] | None]] = [(root, None)]
    while stack:
        current, below = stack.pop()
        if id(current) in done:
            continue
        if below is None:
            below = children(current)
            if below:
                stack.append((current, below))
                stack.extend([(child, None) for child in reversed(below) if id(child) not in done])
            else:
                done[id(current)] = f(current, current)
        else:
            new = [done[id(child)] for child in below]
            changed = any(map(is_not, new, below))
            done[id(current)] = f(current, rebuild(current, new) if changed else current)
    return done[id(root)]  # type: ignore[no-any-return]


Steps = Generator[Any, Any, T]


def run(steps: Steps[T], waiting: list[Any] | None = None) -> T:
    """Drive a computation written as a generator, on an explicit stack.

    `x = yield g(…)` runs the generator g(…) and receives its result: a call that uses no Python
    stack. `return g(…)`, without the yield, is a tail call: the caller's frame is dropped first.
    Where g(…) is no generator it is the result already.

    `waiting`, an empty list, is the stack: a computation that has it can see how deep it is.
    """
    stack: list[Generator[Any, Any, Any]] = [] if waiting is None else waiting
    stack.append(steps)
    value: Any = None
    error: BaseException | None = None
    while stack:
        try:
            top = stack[-1]
            child = top.send(value) if error is None else top.throw(error)
            error = None
            if type(child) is GeneratorType:
                stack.append(child)
                value = None
            else:
                value = child
        except StopIteration as stop:
            stack.pop()
            value, error = stop.value, None
            if type(value) is GeneratorType:
                stack.append(value)
                value = None
        except BaseException as raised:
            stack.pop()
            # the traceback shows the computations, as in plain recursion, and not this loop
            inner = raised.__traceback__.tb_next if raised.__traceback__ else None
            error = raised.with_traceback(inner) if inner else raised
    if error is not None:
        try:
            raise error
        finally:
            del error  # or it and this frame, in its traceback, keep each other alive
    return value  # type: ignore[no-any-return]


def gather(steps: Iterable[Steps[T]]) -> Steps[list[T]]:
    """The results of several computations, run one after the other."""
    found: list[T] = []
    for each in steps:
        result = yield each
        found.append(result)
    return found


@contextmanager
def without_collection() -> Iterator[None]:
    """Disables Python's cycle collector, which would scan the (acyclic) nodes again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
