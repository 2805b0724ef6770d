"""Write passes, run them in sequence, print the module between them, and check every result."""

import relay
from relay.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard


class DoubleNegation(DFPatternCallback):
    """negative(negative(x))  ->  x"""

    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = is_op("negative")(is_op("negative")(self.x))

    def callback(self, pre, post, node_map):
        return node_map[self.x][0]


@relay.transform.function_pass(opt_level=1, name="CancelNegations")
def cancel_negations(func, mod, ctx):
    return rewrite(DoubleNegation(), func)


mod = relay.parse(
    """
    #[version = "0.0.5"]
    def @main(%x: Tensor[(4), float32], %b: Tensor[(4), float32]) {
      nn.bias_add(negative(negative(negative(%x))), %b, axis=0)
    }
    """.strip()
)
timing = relay.transform.PassTimingInstrument()
checks = relay.transform.WellFormedInstrument()
with relay.transform.PassContext(opt_level=3, instruments=[timing, checks]):
    sequence = relay.transform.Sequential(
        [cancel_negations, relay.transform.CanonicalizeOps(), relay.transform.InferType()]
    )
    result = sequence(mod)
    print(timing.render())
print(result)
assert relay.analysis.list_op_freqs(result) == {"negative": 1, "add": 1}
