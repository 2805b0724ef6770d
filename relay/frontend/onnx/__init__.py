"""The ONNX frontend.

From a file to a module, in this order:

load.py        files and bytes as a model            tensors.py    tensors in files
naming.py      names in errors                       versions.py   versions of operator sets
survey.py      the report of unsupported operators   types.py      types and dimensions
importer.py    a model as a module                   graph.py      graphs and subgraphs
scope.py       scopes: chains of `let`s              functions.py  functions that nodes call
schema.py      checks of nodes by their schema       microsoft.py  attributes of com.microsoft
node.py        a node as its converter sees it       converters.py tables of converters
folding.py     constant folding                      elements.py   known elements of shapes
ranks.py       expected ranks of dynamic reshapes    weights.py    which initializers are weights
branches.py    branches and forks                    joining.py    common supertypes of branches
continuations.py shared code after several forks     boxed.py      tensors of unknown rank

operators/     the converters, one file per family
computations/  computations that several families share
"""

from relay.frontend.onnx.converters import Converters as Converters
from relay.frontend.onnx.importer import from_onnx as from_onnx
from relay.frontend.onnx.node import Node as Node
