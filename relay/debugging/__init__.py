"""Where a wrong result comes from.

    found = relay.debugging.compare("model.onnx", (x,), against="onnxruntime")
    print(found)                 the first part that differs: a converter, a pass or a kernel
    found.save("wrong.py")       a script that shows the difference and nothing else

non_finite.py   the operator that NaN or infinity comes from
compare.py      the road from a model to native code, one stage after the other
differences.py  the largest difference between two values
programs.py     the interpreter as oracle: results and intermediate values of a program
regions.py      small programs around an expression
onnx_nodes.py   models of one ONNX node, with ONNX Runtime as oracle
torch_nodes.py  modules of one operator of PyTorch, with PyTorch as oracle
reproducers.py  the script of a difference
"""

from relay.debugging.compare import Comparison as Comparison
from relay.debugging.compare import compare as compare
from relay.debugging.non_finite import NonFinite as NonFinite
from relay.debugging.non_finite import find_non_finite as find_non_finite
