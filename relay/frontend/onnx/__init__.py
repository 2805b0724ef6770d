"""The ONNX frontend.

From a file to a module, in this order:

load.py        files and bytes as a model            tensors.py    tensors in files
survey.py      the report of unsupported operators   versions.py   versions of operator sets
importer.py    a model as a module                   types.py      types and dimensions
scope.py       what a graph says of its names        graph.py      graphs and subgraphs
schema.py      checks of nodes by their schema       functions.py  functions that nodes call
node.py        a node as its converter sees it       microsoft.py  attributes of com.microsoft
converters.py  tables of converters                  elements.py   known elements of shapes
ranks.py       expected ranks of dynamic reshapes    weights.py    which initializers are weights
branches.py    branches and forks                    joining.py    common supertypes of branches
continuations.py shared code after several forks     boxed.py      tensors of unknown rank

../common      what it shares with other frontends: scopes, builder, folding, checks

operators/     the converters, one file per family
computations/  computations that several families share
"""

from relay.frontend.onnx.converters import Converters as Converters
from relay.frontend.onnx.importer import from_onnx as from_onnx
from relay.frontend.onnx.node import Node as Node
