"""Models of ONNX.

From a file to a module, in this order:

load.py        files and bytes as a model            tensors.py    its tensors, where they lie
naming.py      names as errors show them             versions.py   versions of operator sets
survey.py      all that has no translation, at once  types.py      types and dimensions
importer.py    a model as a module                   graph.py      graphs and subgraphs
scope.py       their names: a chain of `let`s        functions.py  functions that nodes stand for
schema.py      how a node has to be written          microsoft.py  the same for com.microsoft
node.py        a node as its converter sees it       converters.py who translates which operator
folding.py     what constants make of each other     elements.py   shapes that graphs compute
branches.py    two ways to the same values           joining.py    the type that both have
boxed.py       tensors of any number of axes

operators/     the converters, one file per family; `ml` and `microsoft` are domains of their own
computations/  what converters of several families are made of
"""

from relay.frontend.onnx.converters import Converters as Converters
from relay.frontend.onnx.importer import from_onnx as from_onnx
from relay.frontend.onnx.node import Node as Node
