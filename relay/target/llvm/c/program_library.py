"""A whole program for programs in C: what `export.py` writes to files.

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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from relay.executors.cores import MOST_THREADS
from relay.native import pool
from relay.native.call import program_runtime_imports, program_runtime_text
from relay.native.runtime import runtime_texts
from relay.program.ownership import own
from relay.program.program import MAIN, Program
from relay.target.llvm.c.failures import PROGRAM_MESSAGES
from relay.target.llvm.c.header import header_text
from relay.target.llvm.c.model import IMPORTS as MODEL_IMPORTS
from relay.target.llvm.c.model import WeightBlock, model_text
from relay.target.llvm.c.program import IMPORTS as PROGRAM_IMPORTS
from relay.target.llvm.c.program import LOADED, functions_text, model_size
from relay.target.llvm.c.tables import Constants
from relay.target.llvm.c.types import FUNCTIONS, CTypes
from relay.target.llvm.compile import compile_module
from relay.target.llvm.program.translate import Translated, translate
from relay.target.llvm.target import LLVMTarget


@dataclass
class ProgramLibrary:
    """The parts of an exported program. `constants` are those it reads, by name and in order."""

    program: Program
    target: LLVMTarget
    constants: Mapping[str, np.ndarray]
    name: str
    threads: int

    @cached_property
    def types(self) -> CTypes:
        """Those that a program in C comes across."""
        return CTypes(self.program, self.name)

    @cached_property
    def weights(self) -> WeightBlock:
        """What the program reads."""
        return WeightBlock(self.program, self.constants)

    @property
    def functions(self) -> list[str]:
        """Those of the header that are not inline."""
        return [f"{self.name}_{verb}" for verb in FUNCTIONS]

    def object(self, embedded: Path | None) -> bytes:
        """The object file."""
        made = translate(own(self.program), self.target)
        called = [kernel for kernel in self.program.kernels if kernel.name in made.kernels]
        texts = [
            *(kernel.ir for kernel in called),
            *runtime_texts(self.target),
            program_runtime_text(self.target),
            made.ir,
            self._text(embedded, made),
        ]
        imports = pool.imports(self.target) | program_runtime_imports(self.target)
        imports |= MODEL_IMPORTS | PROGRAM_IMPORTS
        return compile_module(
            texts,
            self.target,
            opt=3,
            imports=imports,
            exports=self.functions,
            apart=[kernel.name for kernel in called],
        )

    def _text(self, embedded: Path | None, made: Translated) -> str:
        offsets = self.weights.offsets
        arrays = [(offsets[name], self.constants[name]) for name in made.constants]
        constants = Constants([(at, array.shape, array.nbytes) for at, array in arrays])
        model = model_text(
            self.name,
            self.weights,
            embedded,
            size=model_size(constants),
            loaded=LOADED,
            threads=self.threads,
            most_threads=MOST_THREADS,
            messages=PROGRAM_MESSAGES,
        )
        return model + functions_text(self.types, made.entries[MAIN], made.sites, constants)

    def header(self, embed: bool) -> str:
        """The text of the header."""
        return header_text(self.types, self.target, embed=embed, threads=self.threads)
