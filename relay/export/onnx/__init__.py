"""Export to ONNX.

exporter.py   a module as a model            program.py    expressions as nodes
graph.py      a graph under construction     weights.py    constants, in the model or beside it
exporters.py  tables of exporters            step.py       a call as its exporter sees it
operators/    the exporters, one file per family
"""

from relay.export.onnx.exporter import to_onnx as to_onnx
