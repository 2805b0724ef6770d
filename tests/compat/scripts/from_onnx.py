import sys

import numpy as np
import onnx

import relay.compat.tvm as tvm
from relay.compat.tvm import relay
from relay.compat.tvm.contrib import graph_executor

onnx_model = onnx.load(sys.argv[1])
x = np.load(sys.argv[2])
target = "llvm"
input_name = onnx_model.graph.input[0].name
shape_dict = {input_name: x.shape}
mod, params = relay.frontend.from_onnx(onnx_model, shape_dict)

with tvm.transform.PassContext(opt_level=1):
    executor = relay.build_module.create_executor(
        "graph", mod, tvm.cpu(0), target, params
    ).evaluate()
tvm_output = executor(tvm.nd.array(x.astype("float32"))).numpy()

with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=target, params=params)
module = graph_executor.GraphModule(lib["default"](tvm.device(target, 0)))
module.set_input(input_name, x)
module.run()
output = module.get_output(0).numpy()
tvm.testing.assert_allclose(output, tvm_output, rtol=1e-4, atol=1e-5)

exe = relay.vm.compile(mod, target=target, params=params)
vm = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu(0))
tvm.testing.assert_allclose(vm.invoke("main", x).numpy(), output, rtol=1e-4, atol=1e-5)
np.save(sys.argv[3], output)
