"""Call graph of the global functions of a module.

Every edge of the expression graph to a global variable counts as a reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from relay import tree
from relay.check.components import strongly_connected
from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule


class CallGraph:
    """The calls between the functions of a module. Functions are given as variables or by name."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._callees = {
            var.name_hint: Counter(
                child.name_hint
                for node in tree.postorder(function)
                for child in tree.children(node)
                if isinstance(child, GlobalVar)
            )
            for var, function in module.functions.items()
        }
        self._references = sum(self._callees.values(), Counter[str]())
        self._groups = strongly_connected(self._callees)
        self._recursive = {
            name
            for group in self._groups
            for name in group
            if len(group) > 1 or name in self._callees[name]
        }

    def ref_count(self, var: GlobalVar | str) -> int:
        """How often the functions of the module refer to `var`, itself included."""
        return self._references[self._name(var)]

    def global_call_count(self, var: GlobalVar | str) -> int:
        """How often `var` refers to functions of the module."""
        return self._callees[self._name(var)].total()

    def callees(self, var: GlobalVar | str) -> list[GlobalVar]:
        """The functions of the module that `var` refers to, each once, in order."""
        names = self._callees[self._name(var)]
        return [self.module.get_global_var(name) for name in names if name in self._callees]

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """Whether `var` can reach itself, directly or through others."""
        return self._name(var) in self._recursive

    def components(self) -> list[list[GlobalVar]]:
        """Groups of functions that reach each other; a group comes after all that it calls."""
        return [[self.module.get_global_var(name) for name in group] for group in self._groups]

    def reachable(self, entries: Iterable[GlobalVar | str]) -> set[GlobalVar]:
        """The entries and all functions of the module they call, directly or not."""
        pending = [self._name(entry) for entry in entries]
        found = set(pending)
        while pending:
            for name in self._callees[pending.pop()]:
                if name in self._callees and name not in found:
                    found.add(name)
                    pending.append(name)
        return {self.module.get_global_var(name) for name in found}

    def print_var(self, var: GlobalVar | str) -> str:
        """One function and its callees, as text."""
        name = self._name(var)
        lines = [f"Call graph node: {name}, #refs = {self.ref_count(name)}"]
        for callee, count in self._callees[name].items():
            lines.append(f"  calls {callee}" + (f" {count} times" if count > 1 else ""))
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        """All functions, callers first."""
        names = [name for group in reversed(self._groups) for name in group]
        return "\n".join(self.print_var(name) for name in names)

    def _name(self, var: GlobalVar | str) -> str:
        name = var if isinstance(var, str) else var.name_hint
        self.module.get_global_var(name)  # an error with a hint for an unknown name
        return name
