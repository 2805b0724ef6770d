import sys

import numpy as np
import onnx

import relay.compat.tvm as tvm
from relay.compat.tvm import autotvm, relay
from relay.compat.tvm.autotvm.tuner import XGBTuner
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

tuning_option = {
    "tuner": "xgb",
    "trials": 2,
    "early_stopping": 100,
    "measure_option": autotvm.measure_option(
        builder=autotvm.LocalBuilder(build_func="default"),
        runner=autotvm.LocalRunner(
            number=10, repeat=1, timeout=10, min_repeat_ms=0, enable_cpu_cache_flush=True
        ),
    ),
    "tuning_records": sys.argv[4],
}
tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params)
for i, task in enumerate(tasks):
    prefix = f"[Task {i + 1:2d}/{len(tasks):2d}] "
    tuner_obj = XGBTuner(task, loss_type="reg")
    tuner_obj.tune(
        n_trial=min(tuning_option["trials"], len(task.config_space)),
        early_stopping=tuning_option["early_stopping"],
        measure_option=tuning_option["measure_option"],
        callbacks=[
            autotvm.callback.progress_bar(tuning_option["trials"], prefix=prefix),
            autotvm.callback.log_to_file(tuning_option["tuning_records"]),
        ],
    )
with (
    autotvm.apply_history_best(tuning_option["tuning_records"]),
    tvm.transform.PassContext(opt_level=3, config={}),
):
    lib = relay.build(mod, target=target, params=params)
module = graph_executor.GraphModule(lib["default"](tvm.device(str(target), 0)))
module.set_input(input_name, x)
module.run()
tvm.testing.assert_allclose(module.get_output(0).numpy(), output, rtol=1e-4, atol=1e-5)
