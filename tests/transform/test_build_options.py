"""The old spelling of a PassContext."""

import relay
from relay.transform import FoldConstant, FuseOps, PassContext, Sequential, build_config

MODULE = '#[version = "0.0.5"]\ndef @main(%x: int32) { add(%x, add(1, 2)) }'


def test_it_is_a_pass_context():
    assert relay.build_config is build_config
    with relay.build_config(
        opt_level=3, required_pass=["FastMath"], disabled_pass=["FuseOps"]
    ) as context:
        assert PassContext.current() is context
    assert context.opt_level == 3
    assert context.required_pass == {"FastMath"}
    assert context.disabled_pass == {"FuseOps"}
    assert context.instruments is None
    assert build_config().opt_level == 2


def test_a_trace_sees_every_pass_before_and_after():
    seen = []

    def trace(module, info, is_before):
        seen.append((info.name, is_before, "add(1, 2)" in str(module)))

    with build_config(disabled_pass=["FuseOps"], trace=trace):
        Sequential([FoldConstant(), FuseOps()])(relay.parse(MODULE))
    assert seen[0][:2] == ("sequential", True)
    assert ("FoldConstant", True, True) in seen
    assert ("FoldConstant", False, False) in seen
    assert "FuseOps" not in {name for name, _, _ in seen}
