"""Walk and rewrite programs: count operators, list shapes, replace one operator by another."""

import relay


class CountOperators(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.counts = {}

    def visit_call(self, call):
        if isinstance(call.op, relay.Op):
            self.counts[call.op.name] = self.counts.get(call.op.name, 0) + 1
        super().visit_call(call)


class ReluToLeakyRelu(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if call.op == relay.op.get("nn.relu"):
            return relay.nn.leaky_relu(call.args[0], alpha=0.1)
        return call


class ListShapes(relay.ExprVisitor):
    def visit_call(self, call):
        super().visit_call(call)
        print(f"  {call.op.name:<16} {call.checked_type}")


data = relay.var("data", shape=(1, 3, 32, 32))
x = relay.nn.conv2d(data, relay.var("w1"), channels=16, kernel_size=(3, 3), padding=(1, 1))
x = relay.nn.max_pool2d(relay.nn.relu(x), pool_size=(2, 2), strides=(2, 2))
x = relay.nn.relu(relay.nn.dense(relay.nn.batch_flatten(x), relay.var("w2"), units=10))
function = relay.Function(relay.analysis.free_vars(x), x)

counter = CountOperators()
counter.visit(function)
print("operators:", counter.counts)

mod = relay.transform.InferType()(relay.IRModule.from_expr(function))
print("shapes:")
ListShapes().visit(mod["main"])

mod["main"] = ReluToLeakyRelu().visit(mod["main"])
mod = relay.transform.InferType()(mod)
print(mod)

# The same visitors on 100,000 nested calls: no recursion limit applies.
deep = data
for _ in range(100_000):
    deep = relay.nn.relu(deep)
counter = CountOperators()
counter.visit(ReluToLeakyRelu().visit(deep))
print("100,000 nested calls:", counter.counts)
assert counter.counts == {"nn.leaky_relu": 100_000}
