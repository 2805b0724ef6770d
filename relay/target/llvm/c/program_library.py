"""Whole programs as C libraries (`export.py` writes them).

exe = relay.compile(tree_lstm, params)
exe.export("tree.o")

tree *model;
if (tree_create(&model, NULL, 0)) return 1;
tree_float32 *x = tree_float32_borrow(model, numbers, 2, (int64_t[]){1, 300});
tree_Tree *leaf = tree_Tree_Rose(model, x, tree_List_Nil());
tree_float32 *state, *cell;
if (tree_run(model, leaf, &state, &cell)) puts(tree_message(model));
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from relay.executors.cores import MOST_THREADS
from relay.native.call import program_runtime_imports, program_runtime_text
from relay.program.ownership import own
from relay.program.program import MAIN
from relay.target.llvm.c.failures import PROGRAM_MESSAGES
from relay.target.llvm.c.header import header_text
from relay.target.llvm.c.model import CLibrary, initial_name
from relay.target.llvm.c.program import IMPORTS, LOADED, functions_text, model_size
from relay.target.llvm.c.tables import Constants
from relay.target.llvm.c.types import FUNCTIONS, CTypes
from relay.target.llvm.program.translate import Translated, translate


@dataclass
class ProgramLibrary(CLibrary):
    """An exported whole program."""

    verbs = FUNCTIONS
    messages = PROGRAM_MESSAGES

    @cached_property
    def types(self) -> CTypes:
        """The types in its interface."""
        return CTypes(self.program, self.name)

    def object(self, embed: bool) -> bytes:
        made = translate(own(self.program), self.target)
        called = [kernel for kernel in self.program.kernels if kernel.name in made.kernels]
        runtime = program_runtime_text(self.target)
        return self.compiled(
            [*(kernel.ir for kernel in called), runtime, made.ir],
            self._text(embed, made),
            program_runtime_imports(self.target) | IMPORTS,
            opt=3,
            noinline=[kernel.name for kernel in called],
        )

    def _text(self, embed: bool, made: Translated) -> str:
        offsets = self.weights.offsets
        initial = [initial_name(name) for name, _ in self.types.state]
        arrays = [(offsets[name], self.constants[name]) for name in (*made.constants, *initial)]
        constants = Constants([(at, array.shape, array.nbytes) for at, array in arrays])
        size = model_size(constants, len(initial))
        model = self.model_text(embed, size=size, loaded=LOADED, most_threads=MOST_THREADS)
        return model + functions_text(self.types, made.entries[MAIN], made.sites, constants)

    @property
    def functions(self) -> list[str]:
        return [*super().functions, *([f"{self.name}_reset"] if self.types.state else [])]

    def header(self, embed: bool) -> str:
        place = self.weights_place(embed)
        return header_text(self.types, self.target, weights=place, threads=self.threads)
