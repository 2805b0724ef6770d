"""Programs as graphs and as pictures, and what notebooks show."""

import io
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

import relay
from relay.testing import mlp
from relay.viz import pictures
from relay.viz.graph import graph_of
from relay.viz.layout import lay_out, lifted

TEXT = """#[version = "0.0.5"]
type L[A] { Cons(A, L[A]), Nil }
def @f(%x: Tensor[(4), float32], %l: L[int32]) {
  let %y = exp(%x);
  let %g = fn (%z: Tensor[(4), float32]) { tanh(%z) };
  %0 = abs(%y);
  if (greater(sum(%y), 1f)) { %g(%0) }
  else { match (%l) { Cons(%a, %b) => @f(sqrt(%0), %b), Nil => %0 } }
}
"""


@pytest.fixture(scope="module")
def program():
    return relay.transform.InferType()(relay.parse(TEXT))


@pytest.fixture(scope="module")
def fused():
    module, _ = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    return relay.pipeline.passes(3)(module)


def by_label(graph):
    return {node.label: node for node in graph.nodes}


def test_expressions_are_in_the_box_of_their_home(program):
    graph = graph_of(program)
    found = by_label(graph)
    above = {
        label: graph.nodes[node.parent].label for label, node in found.items() if node.parent >= 0
    }
    assert above["abs"] == "@f"  # both branches use it
    assert above["tanh"] == "fn" and above["fn"] == "@f"
    assert above["sqrt"] == "Cons(%a: int32, %b: L[int32])"
    assert above["then"] == above["else"] == "if" and above["match"] == "else"
    edges = {(graph.nodes[e.source].label, graph.nodes[e.target].label) for e in graph.edges}
    assert {("exp", "abs"), ("abs", "sqrt"), ("fn", "call"), ("greater", "if")} <= edges
    assert found["greater"].reads == ["constant float32"]
    assert found["exp"].type == "Tensor[(4), float32]"


def test_nodes_are_in_an_order_of_evaluation(program, fused):
    for graph in (graph_of(program), graph_of(fused)):
        assert [node.number for node in graph.nodes] == list(range(len(graph.nodes)))
        assert all(source < target for source, target, _ in lifted(graph))
        assert all(node.parent < node.number for node in graph.nodes)


def test_fused_groups_are_boxes_and_weights_are_not_nodes(fused):
    weights = [p.name_hint for p in fused["main"].params if p.name_hint != "data"]
    graph = graph_of(fused, weights)
    groups = [node for node in graph.nodes if node.kind == "fused"]
    assert "dense add relu" in [node.label for node in groups]
    assert [node.label for node in graph.nodes if node.kind == "parameter"] == ["%data"]
    dense = next(node for node in graph.nodes if node.label == "nn.dense")
    assert graph.nodes[dense.parent].label == "dense add relu"
    assert any(read.startswith("%fc1_weight") for read in dense.reads)


def test_a_hundred_thousand_lets_are_drawn():
    x = relay.var("x", shape=(3,))
    body = end = relay.var("v", shape=(3,))
    for _ in range(20_000):
        earlier = relay.var("v", shape=(3,))
        body = relay.Let(end, relay.exp(earlier), body)
        end = earlier
    graph = graph_of(relay.Function([x], relay.Let(end, x, body)))
    assert sum(node.label == "exp" for node in graph.nodes) == 20_000
    assert {node.parent for node in graph.nodes if node.label == "exp"} == {0}


def test_boxes_do_not_overlap_and_hold_their_members(program, fused):
    for graph in (graph_of(program), graph_of(fused)):
        places = lay_out(graph).places
        for members in graph.children().values():
            for one in members:
                a = places[one]
                outer = graph.nodes[one].parent
                if outer >= 0:
                    b = places[outer]
                    assert b.x <= a.x and a.x + a.width <= b.x + b.width + 1e-6
                    assert b.y <= a.y and a.y + a.height <= b.y + b.height + 1e-6
                for other in members:
                    b = places[other]
                    apart = a.x + a.width <= b.x or b.x + b.width <= a.x
                    apart = apart or a.y + a.height <= b.y or b.y + b.height <= a.y
                    assert apart or one == other


def test_pictures_have_every_node(program, tmp_path, capsys):
    graph = graph_of(program)
    root = ElementTree.fromstring(pictures.svg(graph))
    labels = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(labels) == sorted(node.label for node in graph.nodes)
    text = pictures.dot(graph)
    assert text.count("subgraph") == 7 and text.count("{") == text.count("}")
    assert Image.open(io.BytesIO(pictures.png(graph))).size[0] > 200
    relay.viz.RelayVisualizer(program).render()
    assert "sqrt <- " in capsys.readouterr().out
    for name in ("a.dot", "a.svg", "a.png", "a.txt"):
        relay.viz.RelayVisualizer(program, plotter=relay.viz.DotPlotter()).render(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    with pytest.raises(relay.RelayError, match="a picture ends in"):
        relay.viz.RelayVisualizer(program, plotter=relay.viz.DotPlotter()).render("a.gif")


def test_parsers_and_plotters_may_be_ones_own(program):
    class Parser(relay.viz.DefaultVizParser):
        def name_of(self, node, relay_param):
            return super().name_of(node, relay_param).upper()

    class Graph(relay.viz.VizGraph):
        def __init__(self):
            self.nodes, self.edges = [], []

        def node(self, viz_node):
            self.nodes.append(viz_node)

        def edge(self, viz_edge):
            self.edges.append(viz_edge)

    class Plotter(relay.viz.Plotter):
        def __init__(self):
            self.graphs = {}

        def create_graph(self, name):
            self.graphs[name] = Graph()
            return self.graphs[name]

        def render(self, filename=None):
            self.rendered = filename

    plotter = Plotter()
    relay.viz.RelayVisualizer(program, plotter=plotter, parser=Parser()).render("x")
    graph = plotter.graphs["f"]
    assert plotter.rendered == "x" and "SQRT" in [node.type_name for node in graph.nodes]
    known = {node.identity for node in graph.nodes}
    assert graph.edges and all(edge.end in known for edge in graph.edges)
    drawn = relay.viz.DotPlotter()
    relay.viz.RelayVisualizer(program, plotter=drawn, parser=Parser())
    assert "SQRT" in pictures.text(drawn.finished())


def test_notebooks_show_programs_types_schedules_and_reports(program, fused):
    for shown in (program, program["f"], fused, relay.TensorType((3,), "int8")):
        html = shown._repr_html_()
        ElementTree.fromstring(f"<div>{html}</div>")
    assert "<svg" in program._repr_html_() and "<svg" not in relay.var("x")._repr_html_()
    exe = relay.compile(relay.Function([], relay.const(1.0)))
    for report in (exe.memory, exe.kernels):
        assert report._repr_html_().startswith("<pre")
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    html = relay.compile(module, params).profile(repeat=1)._repr_html_()
    ElementTree.fromstring(f"<div>{html}</div>")
    assert "nn.softmax" in html
    from relay import te
    from relay.te.schedule import create

    a = te.placeholder((4,), "float32", "a")
    html = create([te.compute((4,), lambda i: a[i] + 1.0, "b")])._repr_html_()
    assert "b[i] = (a[i] + 1.0:float32)" in html and "for i in 4" in html
