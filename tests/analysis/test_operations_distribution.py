"""Who compiles which operator."""

import relay
from relay.analysis import analyze_operations_distribution
from relay.errors import SourceName


def test_the_distribution_tells_compiler_and_composite_of_each_call():
    def call(op, name, *args):
        made = op(*args)
        span = relay.Span(SourceName(name))
        return relay.Call(made.op, made.args, made.attrs, span=span)

    p, x, y = (relay.var(n, shape=()) for n in "pxy")
    inner = call(relay.add, "second", call(relay.add, "first", p, p), p)
    composite = relay.Function([p], inner, attrs={"Composite": "vendor.twice"})
    module = relay.IRModule()
    module["offloaded"] = relay.Function([x], composite(x), attrs={"Compiler": "vendor"})
    module["main"] = relay.Function([y], call(relay.multiply, "third", y, y))
    found = analyze_operations_distribution(module)
    assert found["first"][:2] == found["second"][:2] == ["vendor", "vendor.twice"]
    assert found["first"][2] == found["second"][2] != found["third"][2]
    assert found["third"][:2] == ["generic", "generic"]
