"""What the page of a model contains: the same texts, times and places as the executable."""

import base64
import hashlib
import json
import re
import zlib
from itertools import pairwise

import pytest

import relay
from relay.driver import explained
from relay.program.plan import Arena
from relay.testing import mlp
from relay.viz import page as pages
from relay.viz.collect import MEMBERS, collect
from relay.viz.page import page

LABEL, KIND, PARENT, TYPE, TEXT, SOURCE, READS, KERNELS = range(8)


@pytest.fixture(scope="module")
def model():
    return mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)


@pytest.fixture(scope="module")
def data(model):
    module, params = model
    return collect(module, params, title="mlp <1>")


def test_kernels_have_the_texts_they_are_made_from(data, model):
    module, params = model
    exe = relay.compile(module, params)
    made = {one.kernel.name: one for one in explained(module, params)}
    assert data["kernels"].keys() == made.keys()
    for name, kernel in data["kernels"].items():
        assert kernel["llvm"] == exe.program.kernel_table[name].ir
        assert kernel["asm"] == exe.code.target.assembly([kernel["llvm"]])
        assert kernel["loops"] == made[name].loops
        assert kernel["expressions"] == made[name].expressions
        known = next((one for one in exe.kernels if one.name == name), None)
        assert kernel["calls"] == (known.calls if known else 0)
        assert (kernel["seconds"] is None) == (known is None)


def test_the_program_after_every_pass_is_there(data, model):
    module, _ = model
    steps, before = [], None
    for step in data["steps"]:
        before = before if step["lines"] is None else step["lines"]
        steps.append("\n".join(data["lines"][number] for number in before))
    module = relay.transform.InferType()(module)
    assert steps[0] == module.astext(show_meta_data=False).rstrip("\n")
    names = [step["name"] for step in data["steps"]]
    fused = names.index("FuseOps")
    assert "Primitive=1" in steps[fused] and "Primitive=1" not in steps[fused - 1]
    assert [bool(step["same"]) for step in data["steps"]] == [False] + [
        a == b for a, b in pairwise(steps)
    ]
    assert {name for name, *_ in data["passes"]} >= {"FuseOps", "FoldConstant"}


def test_groups_lead_to_their_kernels(data):
    graph = data["graphs"][-1]
    groups = [node for node in graph["nodes"] if node[KIND] == "fused" and node[KERNELS]]
    assert {name for node in groups for name in node[KERNELS]} == data["kernels"].keys()
    (softmax,) = (node for node in groups if node[LABEL] == "softmax")
    assert "nn.softmax(%p0" in softmax[TEXT] and softmax[TYPE] == "Tensor[(1, 3), float32]"
    assert data["graphs"][0]["name"] == "imported"
    assert any(node[READS] for node in data["graphs"][0]["nodes"])
    (main,) = (number for number, node in enumerate(graph["nodes"]) if node[LABEL] == "@main")
    inside = [node for node in graph["nodes"] if node[PARENT] == main]
    assert [node[LABEL] for node in inside if node[KIND] == "parameter"] == ["%data"]


def test_the_memory_plan_is_that_of_the_executable(data, model):
    exe = relay.compile(*model)
    places = [p for p in exe.bound.plan.places.values() if isinstance(p, Arena)]
    assert data["memory"]["arena"] == exe.memory.arena
    assert sorted(block[1] for block in data["memory"]["blocks"]) == sorted(
        [*(place.offset for place in places), *exe.bound.plan.workspaces.values()]
    )
    for i, (_, start, size, first, last) in enumerate(data["memory"]["blocks"]):
        for _, other, room, begin, end in data["memory"]["blocks"][:i]:
            together = first <= end and begin <= last
            apart = start + size <= other or other + room <= start
            assert apart or not together or (start, size) == (other, room)  # in place


def test_the_page_needs_nothing_from_elsewhere(data):
    text = page(data)
    assert "<title>mlp &lt;1&gt; · relay view</title>" in text
    assert "default-src 'none'" in text and "connect-src 'self'" in text
    outside = re.sub(r'<script id="data".*?</script>', "", text, flags=re.DOTALL)
    links = set(re.findall(r"https?://[^\s\"'`<]+", outside))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:link|img|iframe|script)[^>]*(?:src|href)=", outside)
    (packed,) = re.findall(r'<script id="data" type="text/plain">(.*?)</script>', text)
    assert json.loads(zlib.decompress(base64.b64decode(packed))) == json.loads(json.dumps(data))


def test_what_is_too_large_is_refused(data, monkeypatch):
    monkeypatch.setattr(pages, "MOST", 1000)
    with pytest.raises(relay.RelayError, match="MiB"):
        page(data)


def test_the_layout_library_is_the_one_that_was_vendored(monkeypatch):
    found = hashlib.sha256(pages.dagre().encode()).hexdigest()
    assert found == pages.DAGRE
    folder = pages.files("relay.viz").joinpath("vendor/dagre")
    assert pages.DAGRE in folder.joinpath("README.md").read_text()
    assert "Permission is hereby granted" in folder.joinpath("LICENSE").read_text()
    monkeypatch.setattr(pages, "DAGRE", "0" * 64)
    with pytest.raises(relay.RelayError, match="not the file that was vendored"):
        pages.dagre()


def test_large_boxes_are_divided():
    x = y = relay.var("x", shape=(3,))
    for _ in range(2 * MEMBERS):
        y = relay.nn.softmax(relay.nn.softmax(y))
    made = collect(relay.IRModule.from_expr(relay.Function([x], y)), level=0)
    nodes = made["graphs"][0]["nodes"]
    inside = {}
    for number, node in enumerate(nodes):
        inside.setdefault(node[PARENT], []).append(number)
    assert max(map(len, inside.values())) <= MEMBERS
    assert sum(node[LABEL] == "nn.softmax" for node in nodes) == 4 * MEMBERS
    assert all(nodes[n][KIND] in ("function", "group") for n in inside if n >= 0)


def test_programs_with_branches_have_a_run_of_nested_calls():
    module = relay.parse(
        """#[version = "0.0.5"]
    def @power(%x: Tensor[(4), float32], %n: int32) -> Tensor[(4), float32] {
      if (less(%n, 1)) { %x } else { multiply(@power(%x, subtract(%n, 1)), exp(%x)) }
    }
    def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { @power(%x, 3) }
    """
    )
    made = collect(module)
    assert max(event[3] for event in made["events"]) >= 3
    assert made["memory"] is None and "memory" in made["notes"][0]
    assert {node[LABEL] for node in made["graphs"][0]["nodes"]} >= {"if", "then", "else", "@power"}
    page(made)
