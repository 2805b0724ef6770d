import numpy as np

import relay.compat.tvm as tvm
from relay.compat.tvm import relay


def example():
    shape = (1, 64, 54, 54)
    c_data = np.ones(shape, "float32")
    c = relay.const(c_data)
    weight = relay.var("weight", shape=(64, 64, 3, 3))
    x = relay.var("x", relay.TensorType((1, 64, 56, 56), "float32"))
    conv = relay.nn.conv2d(x, weight)
    y = relay.add(c, c)
    y = relay.multiply(y, relay.const(2, "float32"))
    y = relay.add(conv, y)
    z = relay.add(y, c)
    z1 = relay.add(y, c)
    z2 = relay.add(z, z1)
    return relay.Function([x, weight], z2)


f = example()
mod = tvm.IRModule.from_expr(f)
fold_const = relay.transform.FoldConstant()
mod = fold_const(mod)
mod = relay.transform.EliminateCommonSubexpr()(mod)
mod = relay.transform.FuseOps(fuse_opt_level=2)(mod)
print(mod)

seq = tvm.transform.Sequential(
    [
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.FuseOps(fuse_opt_level=2),
    ]
)
with tvm.transform.PassContext(opt_level=3):
    mod1 = seq(tvm.IRModule.from_expr(f))
with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
    mod3 = seq(tvm.IRModule.from_expr(f))
assert not tvm.ir.structural_equal(mod1, mod3)


@relay.transform.function_pass(opt_level=1)
class CustomPipeline:
    def __init__(self, multiplier):
        self.multiplier = multiplier

    def transform_function(self, func, mod, ctx):
        obj = self

        class ReplaceConstant(tvm.relay.ExprMutator):
            def visit_constant(self, c):
                return relay.multiply(obj.multiplier, c)

        return ReplaceConstant().visit(func)


custom_pass = CustomPipeline(multiplier=relay.const(3, "float32"))
assert custom_pass.info.name == "CustomPipeline"
mod3 = custom_pass(tvm.IRModule.from_expr(f))
print(mod3)


@tvm.instrument.pass_instrument
class PassCounter:
    def __init__(self):
        self.runs = []

    def run_before_pass(self, mod, info):
        self.runs.append(info.name)


counter = PassCounter()
with tvm.transform.PassContext(opt_level=3, instruments=[counter]):
    seq(tvm.IRModule.from_expr(f))
assert "FoldConstant" in counter.runs
print(counter.runs)
