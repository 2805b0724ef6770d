"""Programs as models of ONNX.

exporter.py   a module as a model            program.py    expressions as nodes
graph.py      a graph as it is written       weights.py    constants, in the model or beside it
exporters.py  which function writes which operator
operators/    the exporters, one file per family
step.py       a call as its exporter sees it
"""

from relay.export.onnx.exporter import to_onnx as to_onnx
