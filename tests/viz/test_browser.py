"""The page in a browser: what is shown is what the compiler has."""

import numpy as np
import pytest

import relay
from relay.frontend.python.standard import Rose
from relay.testing import mlp, resnet, tree_lstm
from relay.viz.collect import collect, with_roof
from relay.viz.page import page
from tests.support.browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt-get install chromium"),
]


def small():
    """A program from text, whose expressions have a place there."""
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    return collect(relay.parse(str(module), source_name="mlp.relay"), params)


def network():
    module, params = resnet.get_workload(num_layers=18)
    return with_roof(collect(module, params), 1)


def trees():
    module, params = tree_lstm.get_workload(16, 8, net=tree_lstm.by_prelude)

    def leaf(*children):
        return Rose(np.ones((1, 16), np.float32), list(children))

    return collect(module, params, call=lambda exe: ((leaf(leaf(), leaf(leaf())),), {}))


def quantized():
    """A convolutional network in integers of 8 bits."""
    module, params = resnet.get_workload(num_layers=18, image_shape=(3, 32, 32), num_classes=10)
    batch = np.random.default_rng(0).standard_normal((1, 3, 32, 32), np.float32)
    data = collect(relay.quantize.int8([batch])(module, params))
    assert any("int8" in line for line in data["lines"])
    return data


def five_thousand():
    x, w = relay.var("x", shape=(1, 16)), relay.var("w", shape=(16, 16))
    b, y = relay.var("b", shape=(16,)), x
    for _ in range(1000):
        y = relay.nn.relu(relay.add(relay.nn.dense(y, w), b))
        y = relay.tanh(relay.multiply(y, relay.const(np.float32(0.5))))
    return collect(relay.IRModule.from_expr(relay.Function([x, w, b], y)))


@pytest.fixture
def browser(tmp_path):
    made = Browser(tmp_path / "profile")
    yield made
    made.close()


@pytest.mark.parametrize("model", [small, network, trees, quantized, five_thousand])
def test_what_is_shown_is_what_the_compiler_has(model, browser, tmp_path):
    data = model()
    (tmp_path / "page.html").write_text(page(data), encoding="utf-8")
    assert (tmp_path / "page.html").stat().st_size < 20 * 2**20
    browser.open(f"file://{tmp_path / 'page.html'}")
    painted = browser.run("performance.getEntriesByType('paint').at(-1).startTime")
    assert painted < 20_000  # no test depends on the time; what was measured is in the docs

    # the main function is open at first, and what is in it closed; two clicks open a group
    nodes = data["graphs"][-1]["nodes"]
    assert browser.run("graphView.shown.size") <= 300
    main = next(i for i, node in enumerate(nodes) if node[0] == "@main")
    assert browser.run(f"graphView.open.has({main}) && graphView.matrix[0] >= READABLE")
    group = next(i for i, node in enumerate(nodes) if node[1] == "fused" and node[7])
    browser.settle(f"choose({group}, true)")
    browser.click(f'[data-id="{group}"]', count=2)
    inside = [i for i, node in enumerate(nodes) if node[2] == group]
    browser.wait(f"{inside}.every((id) => graphView.shown.has(id))")

    # a click on a node shows its kernel: texts and time are the real ones
    browser.wait("document.body.dataset.ready === String(graphView.request)")
    browser.settle(f"choose({inside[0]}, true)")
    browser.settle(f"choose({group}, true)")
    browser.click(f'[data-id="{group}"]')
    kernel = nodes[group][7][-1]
    browser.wait(f"document.querySelector('[data-kernel=\"{kernel}\"]')")
    browser.run("document.querySelectorAll('#details details').forEach((d) => { d.open = true; })")
    texts = {"loops": "loops", "LLVM IR": "llvm", "assembly": "asm"}
    for title, field in texts.items():
        found = f"document.querySelectorAll('pre[data-section=\"{title}\"]')"
        shown = f"[...{found}].map((e) => e.textContent)"
        browser.wait(f"{shown}.length")
        assert data["kernels"][kernel][field] in browser.run(shown), title
    seconds = data["kernels"][kernel]["seconds"]
    if seconds is not None:
        each = seconds / data["kernels"][kernel]["calls"]
        assert browser.run(f"timeText({each})") in browser.run("byId('details').textContent")

    # from a node of the imported program to what becomes of it
    if model is small:
        dense = next(
            i for i, node in enumerate(data["graphs"][0]["nodes"]) if node[0] == "nn.dense"
        )
        browser.settle("chooseGraph(0)")
        browser.settle(f"choose({dense}, true)")
        browser.click("[data-compiled]")
        browser.wait("document.body.dataset.ready === String(graphView.request)")
        chosen = nodes[browser.run("state.graph === 1 ? state.chosen : -1")]
        assert chosen[0] == "nn.dense" and chosen[5] == data["graphs"][0]["nodes"][dense][5]

    # search, by keys only
    browser.press("1")
    browser.press("/")
    for letter in nodes[inside[-1]][0]:
        browser.press(letter)
    browser.wait("!byId('results').hidden && document.querySelector('#results button')")
    hits = browser.run("[...graphView.hits]")
    assert inside[-1] in hits
    browser.press("Enter")
    browser.wait("state.chosen !== -1 && graphView.hits.has(state.chosen)")

    # passes that change the program, one after the other, as the compiler had it
    browser.press("Escape")
    browser.run("document.activeElement.blur()")
    changed = [i for i, step in enumerate(data["steps"]) if i and not step["same"]]
    for number in changed[1:4]:
        browser.press("n")
        browser.wait(f"state.step === {number}")
        after = data["steps"][number]["lines"]
        browser.run("document.querySelectorAll('.gap').forEach((gap) => gap.click())")
        cells = browser.run(
            "[...document.querySelectorAll('.diff tr:not(.gap)')].slice(1)"
            ".map((row) => row.children[1].textContent)"
        )
        assert [c for c in cells if c] == [text for i in after if (text := data["lines"][i])]
        assert browser.run("document.querySelectorAll('.plus, .minus').length") > 0

    for key, tab in zip("23456", ("passes", "kernels", "roofline", "memory", "time"), strict=True):
        browser.press(key)
        browser.wait(f"!byId('{tab}').hidden && byId('{tab}').children.length")
    rows = browser.run("document.querySelectorAll('#kernels tr[data-kernel]').length")
    assert rows == len(data["kernels"])
    blocks = data["memory"]["blocks"] if data["memory"] else []
    assert browser.run("document.querySelectorAll('#memory rect').length") == len(blocks)
    bars = browser.run("document.querySelectorAll('#time rect.kernel').length")
    assert (bars > 0) == any(event[4] for event in data["events"]) and data["events"]
    browser.press("d")
    browser.press("?")
    browser.wait("byId('keys').open")
    browser.screenshot(tmp_path / "page.png")
    assert browser.problems == []
