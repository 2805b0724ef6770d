"""The log says what was compiled, and what was there before."""

import logging

import relay
from relay.cache import Cache


def test_the_log_tells_kernels_made_from_programs_that_were_compiled_before(tmp_path, caplog):
    x = relay.var("x", shape=(3,))
    for said in ("1 kernels of 1 functions, 1 of them made anew", "compiled before"):
        with caplog.at_level(logging.INFO, "relay"):
            relay.compile(relay.Function([x], relay.exp(x)), cache=Cache(tmp_path / "kernels"))
        assert said in caplog.text
        caplog.clear()
