"""Pack the storages of a block into one:

extern type Storage
def @main(%shape: Tensor[(1), int64]) {
  let %s0 = memory.alloc_storage(64i64, %shape, 64i64);
  let %a = memory.alloc_tensor(%s0, 0i64, %shape, const_shape=[16]);
  let %s1 = memory.alloc_storage(64i64, %shape, 64i64);
  let %b = memory.alloc_tensor(%s1, 0i64, %shape, const_shape=[16]);
  let %c = add(%a, %b);
  let %k0 = memory.kill(%s0);
  let %k1 = memory.kill(%s1);
  %c
}
->
extern type Storage
def @main(%shape: Tensor[(1), int64]) {
  … let %size = 128i64; …
  let %region = memory.alloc_storage(%size, …); … let %first = 0i64;
  let %a = memory.alloc_tensor(%region, %first, …); … let %second = 64i64;
  let %b = memory.alloc_tensor(%region, %second, …);
  let %c = add(%a, %b); …
  let %k = memory.kill(%region);
  %c
}

Storages with disjoint live ranges share bytes. A live range is from the allocation to the kill, so
a storage is moved only if both are in the same block, its size is a number, and only tensors at
known offsets are made of it. There is one region per device.

It runs after ManifestAlloc, and is in no pipeline: compiled programs have plans of their own, which
also know which kernels may write in place.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import numpy as np

from relay import tree
from relay.analysis.normal_forms import is_kernel
from relay.arena import ALIGNMENT, assign
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Syntax, Var, const
from relay.ir.variables import binders
from relay.transform.base import FunctionPass


@frozen
class MemoryPlan(FunctionPass):
    """Combines storages with known live ranges."""

    required = ("InferType", "ManifestLifetimes")

    def rewrite(self, function: Function) -> Function:
        if is_kernel(function):
            return function
        numbers = _numbers(function)
        slots: dict[Syntax, _Slot] = {s.storage: s for s in _planned(function, numbers)}
        if not slots:
            return function

        def visit(_: Syntax, after: Syntax) -> Syntax:
            return _moved(after, slots, numbers) if isinstance(after, Let) else after

        return tree.transform(function, visit)


@frozen
class _Storage:
    """A storage of static size, live from one binding of its block to another."""

    variable: Var
    device: str
    size: int
    first: int
    last: int


@frozen
class _Region:
    """The storage that replaces several."""

    variable: Var
    size: int
    first: Var  # the storage that is allocated first, where the region is allocated
    last: Var  # the one that is killed last


@frozen
class _Slot:
    """The offset of a storage in a region."""

    storage: Var
    region: _Region
    offset: int


# --- planning ------------------------------------------------------------------------------------


def _planned(function: Function, numbers: Mapping[Syntax, int]) -> Iterator[_Slot]:
    """The slots of all storages that become part of a region."""
    kept = set(_kept(function, numbers))
    for block in _blocks(function):
        devices: dict[str, list[_Storage]] = {}
        for storage in _storages(block, numbers, kept):
            devices.setdefault(storage.device, []).append(storage)
        for storages in devices.values():
            if len(storages) > 1:
                yield from _together(storages)


def _together(storages: list[_Storage]) -> Iterator[_Slot]:
    """The slots of storages of one block."""
    offsets, size = assign(storages)
    first = min(storages, key=lambda storage: storage.first)
    last = max(storages, key=lambda storage: storage.last)
    region = _Region(Var("region"), size, first.variable, last.variable)
    for storage, offset in zip(storages, offsets, strict=True):
        yield _Slot(storage.variable, region, offset)


def _blocks(function: Function) -> Iterator[list[Let]]:
    """The bindings of every block, in order."""
    lets = [node for node in tree.postorder(function) if isinstance(node, Let)]
    later = {id(let.body) for let in lets}
    for head in (let for let in lets if id(let) not in later):
        block: list[Let] = []
        rest: Expr = head
        while isinstance(rest, Let):
            block.append(rest)
            rest = rest.body
        yield block


def _numbers(function: Function) -> dict[Syntax, int]:
    """The values of scalar constants, and of variables bound to such."""
    found: dict[Syntax, int] = {}
    for node in tree.postorder(function):
        value = node.value if isinstance(node, Let) else node
        if isinstance(value, Constant) and value.tensor_type.shape == ():
            found[node.variable if isinstance(node, Let) else node] = int(value.data.numpy())
    return found


def _storages(
    block: list[Let], numbers: Mapping[Syntax, int], kept: Container[Syntax]
) -> Iterator[_Storage]:
    """The storages of static size that a block both allocates and kills."""
    allocated: dict[Syntax, tuple[int, Let]] = {}
    for position, let in enumerate(block):
        match let.value:
            case Call(op=Op(name="memory.alloc_storage"), args=(size, _, alignment)):
                is_known = (
                    size in numbers and ALIGNMENT % numbers.get(alignment, ALIGNMENT + 1) == 0
                )
                if is_known and let.variable not in kept:
                    allocated[let.variable] = (position, let)
            case Call(op=Op(name="memory.kill"), args=(storage,)) if storage in allocated:
                first, made = allocated.pop(storage)
                if let.variable not in kept:
                    yield _storage(made, first, position, numbers)


def _storage(made: Let, first: int, last: int, numbers: Mapping[Syntax, int]) -> _Storage:
    call = made.value
    assert isinstance(call, Call) and call.attrs is not None
    device = dict(call.attrs.items())["virtual_device"]
    return _Storage(made.variable, device, numbers[call.args[0]], first, last)


def _kept(function: Function, numbers: Mapping[Syntax, int]) -> Iterator[Syntax]:
    """Variables with other uses than tensors at constant offsets and `memory.kill`."""
    for node in tree.postorder(function):
        match node:
            case Call(op=Op(name="memory.kill")):
                pass
            case Call(op=Op(name="memory.alloc_tensor"), args=(_, offset, shape)):
                if offset not in numbers:
                    yield node.args[0]
                yield shape
            case _:
                bound = set(binders(node))
                yield from (c for c in tree.children(node) if isinstance(c, Var) and c not in bound)


# --- rewriting -----------------------------------------------------------------------------------


def _moved(let: Let, slots: Mapping[Syntax, _Slot], numbers: Mapping[Syntax, int]) -> Expr:
    """A binding, with storages replaced by regions."""
    match let.value:
        case Call(op=Op(name="memory.alloc_storage")) as call if let.variable in slots:
            region = slots[let.variable].region
            return _allocated(region, call, let.body) if region.first is let.variable else let.body
        case Call(op=Op(name="memory.alloc_tensor"), args=(storage, offset, shape)) as call:
            if storage in slots:
                slot, begin = slots[storage], Var("offset")
                made = tree.replace(call, args=(slot.region.variable, begin, shape))
                total = _integer(slot.offset + numbers[offset])
                return Let(begin, total, tree.replace(let, value=made))
        case Call(op=Op(name="memory.kill"), args=(storage,)) as call if storage in slots:
            region = slots[storage].region
            if region.last is not storage:
                return let.body
            return tree.replace(let, value=tree.replace(call, args=(region.variable,)))
    return let


def _allocated(region: _Region, call: Call, body: Expr) -> Expr:
    """The allocation of a region, instead of that of a storage."""
    size, shape, alignment = Var("size"), Var("shape"), Var("alignment")
    body = Let(region.variable, tree.replace(call, args=(size, shape, alignment)), body)
    body = Let(alignment, _integer(ALIGNMENT), body)
    body = Let(shape, const(np.zeros(0, "int64"), "int64"), body)
    return Let(size, _integer(region.size), body)


def _integer(value: int) -> Expr:
    return const(value, "int64")
