"""The passes of quantized networks have names among themselves."""

import relay


def test_the_names_lead_to_the_passes():
    assert relay.qnn.transform.Legalize is relay.transform.QnnLegalize
    assert relay.qnn.transform.CanonicalizeOps is relay.transform.QnnCanonicalize
    assert relay.qnn.op.quantize is relay.op.qnn.op.quantize
