"""Models of ONNX.

load.py        files and bytes as a model            tensors.py    its tensors, where they lie
survey.py      all that has no translation, at once  types.py      types and dimensions
converters.py  which function translates which operator, by version
operators/     the converters, one file per family
node.py        a node as its converter sees it       schema.py     how it has to be written
naming.py      names as errors show them             versions.py   versions of operator sets
folding.py     what constants make, if it is not too much
branches.py    two ways to the same values
broadcast.py   operands with names that stand against each other
windows.py     windows that slide, and what stands around data
resampling.py  tensors read between their elements
attending.py   attention                             rotation.py   angles of places
shares.py      softmax                               derivatives.py  those of what graphs compute
standing_in.py operators that are others in one      microsoft.py  attributes of com.microsoft
elements.py    what is known of shapes that graphs compute
scope.py       the names of a graph: a chain of `let`s
graph.py       graphs and subgraphs                  functions.py  functions that nodes stand for
importer.py    a model as a module
"""

from relay.frontend.onnx.converters import Converters as Converters
from relay.frontend.onnx.importer import from_onnx as from_onnx
from relay.frontend.onnx.node import Node as Node
