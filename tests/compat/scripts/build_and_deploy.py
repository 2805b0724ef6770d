import numpy as np

import relay.compat.tvm as tvm
from relay.compat.tvm import relay
from relay.compat.tvm.contrib import graph_executor, utils
from relay.compat.tvm.relay import testing

batch_size = 1
data_shape = (batch_size, 1, 28, 28)
mod, params = testing.mlp.get_workload(batch_size=batch_size)

target = tvm.target.Target("llvm", host="llvm")
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=target, params=params)

dev = tvm.device(str(target.kind), 0)
data = np.random.uniform(-1, 1, size=data_shape).astype("float32")
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("data", data)
module.run()
out = module.get_output(0, tvm.nd.empty((batch_size, 10))).numpy()
print(out.flatten()[0:10])

temp = utils.tempdir()
path_lib = temp.relpath("deploy_lib.tar")
lib.export_library(path_lib)
print(temp.listdir())

loaded_lib = tvm.runtime.load_module(path_lib)
input_data = tvm.nd.array(data)
module = graph_executor.GraphModule(loaded_lib["default"](dev))
module.run(data=input_data)
out_deploy = module.get_output(0).numpy()
tvm.testing.assert_allclose(out_deploy, out, atol=1e-5)

with tvm.transform.PassContext(opt_level=2):
    graph, library, weights = relay.build(mod, "llvm", params=params)
module = graph_executor.create(graph, library, tvm.cpu(0))
module.set_input(**weights)
module.set_input("data", data)
module.run()
tvm.testing.assert_allclose(module.get_output(0).numpy(), out, atol=1e-4)
print(module.benchmark(dev, number=1, repeat=2))
