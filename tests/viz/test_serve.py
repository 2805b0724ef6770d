"""The live mode answers who has the token, on the loopback address, and follows changes."""

import threading
import urllib.error
import urllib.request

import pytest

from relay.errors import RelayError
from relay.viz.serve import LOOPBACK, Server


@pytest.fixture
def served():
    state = {"version": "1", "made": 0}

    def make(version):
        state["made"] += 1
        if version == "broken":
            raise RelayError("it does not compile")
        return f"<p>{version}</p>"

    server = Server(make, lambda: state["version"])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server, state
    server.shutdown()
    thread.join()
    server.server_close()


def get(url, **headers):
    """The status and the text of an answer."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_page_is_made_once_and_again_after_a_change(served):
    server, state = served
    assert server.server_address[0] == LOOPBACK
    assert get(server.url) == get(server.url) == (200, "<p>1</p>")
    assert state["made"] == 1
    state["version"] = "2"
    assert get(server.url.replace("/?", "/changed?")) == (200, "2")
    assert get(server.url) == (200, "<p>2</p>")
    state["version"] = "broken"
    assert get(server.url) == (500, "it does not compile\n")


def test_nobody_else_gets_an_answer(served):
    server, state = served
    bare = server.url.partition("?")[0]
    for wrong in (bare, f"{bare}?token=", f"{bare}?token=wrong", f"{bare}changed"):
        assert get(wrong)[0] == 403
    assert get(server.url, Host="evil.example:80")[0] == 403
    assert get(server.url.replace("/?", "/other?"))[0] == 404
    assert state["made"] == 0
    assert len(server.token) >= 32
