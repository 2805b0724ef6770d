"""The passes of straight-line code over tensors, by level; each with its reason."""

from __future__ import annotations

from relay.transform.base import Pass
from relay.transform.dead_code_elimination import DeadCodeElimination
from relay.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from relay.transform.fold_constant import FoldConstant
from relay.transform.fuse_ops import FuseOps
from relay.transform.infer_type import InferType
from relay.transform.inline_composites import InlineComposites
from relay.transform.lift_weights import LiftWeights
from relay.transform.remove_unused_functions import RemoveUnusedFunctions
from relay.transform.simplify_inference import SimplifyInference
from relay.transform.to_basic_block_normal_form import ToBasicBlockNormalForm

# As written: for debugging, and to compare the other levels with.
LEVEL_0: tuple[Pass, ...] = (
    InferType(),  # lowering needs to know every shape
    InlineComposites(),  # no other compiler takes them
    LiftWeights(),  # before fusion, which would mix what runs once with what runs in every call
    ToBasicBlockNormalForm(),  # every branch is lowered on its own
    FuseOps(fuse_opt_level=0),  # one operator is one kernel
)

# No work that need not be done at all, or not in every run.
LEVEL_1: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),  # first: what main does not reach costs the others time
    InferType(),
    InlineComposites(),  # before all that looks at operators
    SimplifyInference(),  # before folding: scale and shift of a batch_norm are constants then
    FoldConstant(),
    DeadCodeElimination(),  # sweeps what the two above left behind
    LiftWeights(),
    ToBasicBlockNormalForm(),
    FuseOps(fuse_opt_level=0),
)

# No work done twice, and nothing written to memory only to be read back at once.
LEVEL_2: tuple[Pass, ...] = (
    RemoveUnusedFunctions(),
    InferType(),
    InlineComposites(),
    SimplifyInference(),
    FoldConstant(),
    EliminateCommonSubexpr(),  # after folding: constants that turn out equal make more equal
    DeadCodeElimination(inline_once=True),  # what has one use joins the graph that fusion sees
    LiftWeights(),
    ToBasicBlockNormalForm(),  # after merging, by which a branch may use what is outside
    FuseOps(fuse_opt_level=2),  # last: fused functions are opaque to the others
)

# No pass here takes long enough, or changes results enough, to be asked for by name.
LEVEL_3 = LEVEL_2
LEVEL_4 = LEVEL_3

LEVELS = (LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_4)
