"""Whole scripted programs: a beam search, a tree LSTM, traced networks."""

import pytest
import torch

import relay
from relay.errors import EvaluationError
from tests.support.scripts import check


class BeamSearch(torch.nn.Module):
    """Beam search over a small recurrent decoder."""

    def __init__(self, words: int = 11, width: int = 3, size: int = 8):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, size)
        self.cell = torch.nn.GRUCell(size, size)
        self.out = torch.nn.Linear(size, words)
        self.words, self.width, self.end = words, width, 1

    def forward(self, start: torch.Tensor, steps: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        state = start.expand(self.width, start.size(1))
        scores = torch.zeros(self.width)
        scores[1:] = -1000.0
        tokens = torch.zeros(self.width, dtype=torch.int64)
        history: list[torch.Tensor] = []
        parents: list[torch.Tensor] = []
        for _step in range(steps):
            state = self.cell(self.embedding(tokens), state)
            logits = torch.log_softmax(self.out(state), dim=-1)
            total = (scores.unsqueeze(1) + logits).view(-1)
            scores, places = torch.topk(total, self.width)
            parent = torch.div(places, self.words, rounding_mode="floor")
            tokens = places - parent * self.words
            state = state.index_select(0, parent)
            history.append(tokens)
            parents.append(parent)
            if bool((tokens == self.end).all()):
                break
        place = torch.zeros((), dtype=torch.int64)
        found: list[torch.Tensor] = []
        for i in range(len(history)):
            at = len(history) - 1 - i
            found.append(history[at].index_select(0, place.view(1)))
            place = parents[at].index_select(0, place.view(1)).squeeze(0)
        found.reverse()
        return torch.cat(found), scores, len(history)


class TreeLSTM(torch.nn.Module):
    """A child-sum tree LSTM over a tree in postorder: the children of each node, by number."""

    def __init__(self, inputs: int = 5, size: int = 4):
        super().__init__()
        self.iou = torch.nn.Linear(inputs, 3 * size)
        self.iou_h = torch.nn.Linear(size, 3 * size, bias=False)
        self.f = torch.nn.Linear(inputs, size)
        self.f_h = torch.nn.Linear(size, size, bias=False)
        self.size = size

    def node(
        self, x: torch.Tensor, children: list[tuple[torch.Tensor, torch.Tensor]]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        total = torch.zeros(1, self.size)
        kept = torch.zeros(1, self.size)
        for h, c in children:
            total = total + h
            kept = kept + torch.sigmoid(self.f(x) + self.f_h(h)) * c
        i, o, u = torch.chunk(self.iou(x) + self.iou_h(total), 3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u) + kept
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, x: torch.Tensor, tree: list[list[int]]) -> torch.Tensor:
        made: list[tuple[torch.Tensor, torch.Tensor]] = []
        for number, children in enumerate(tree):
            below: list[tuple[torch.Tensor, torch.Tensor]] = []
            for child in children:
                assert child < number, f"a child comes after its parent: {child}"
                below.append(made[child])
            made.append(self.node(x[number : number + 1], below))
        return made[-1][0]


TREES = [[[], [], [0, 1], [], [2, 3]], [[]], [[], [0], [1], [2], [3]]]


def test_a_beam_search():
    torch.manual_seed(1)
    model = BeamSearch().eval()
    start = torch.randn(1, 8)
    infos = [("start", (1, 8)), ("steps", ((), "int64"))]
    with torch.no_grad():
        check(model, *((start, n) for n in (1, 4, 9)), infos=infos, rtol=1e-4)


@pytest.mark.full
def test_a_compiled_beam_search():
    torch.manual_seed(1)
    model = BeamSearch().eval()
    start = torch.randn(1, 8)
    infos = [("start", (1, 8)), ("steps", ((), "int64"))]
    with torch.no_grad():
        check(model, *((start, n) for n in (1, 4, 9)), infos=infos, rtol=1e-4, compiled=True)


def test_a_tree_lstm_over_nested_lists():
    torch.manual_seed(2)
    model = TreeLSTM().eval()
    calls = [(torch.randn(len(tree), 5), tree) for tree in TREES]
    infos = [("x", (relay.Any(), 5)), ("tree", ())]
    with torch.no_grad():
        exe = check(model, *calls, infos=infos, compiled=True)
    with pytest.raises(EvaluationError, match="a child comes after its parent") as error:
        exe(torch.zeros(2, 5).numpy(), [[1], []])
    assert "found:    1" in str(error.value)
    assert "test_programs.py" in str(error.value)


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.out = torch.nn.Linear(8 * 4 * 4, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = torch.nn.functional.max_pool2d(x, 2)
        return self.out(x.reshape(x.shape[0], -1))


def test_a_traced_network():
    model = Small().eval()
    x = torch.randn(2, 3, 8, 8)
    traced = torch.jit.trace(model, x)
    with torch.no_grad():
        check(traced, (x,), rtol=1e-4)


def test_a_traced_network_with_an_open_batch():
    model = Small().eval()
    n = relay.ShapeVar("n")
    traced = torch.jit.trace(model, torch.randn(2, 3, 8, 8))
    calls = [(torch.randn(size, 3, 8, 8),) for size in (1, 3)]
    with torch.no_grad():
        for batch in (n, relay.Any()):
            check(traced, *calls, infos=[("x", (batch, 3, 8, 8))], compiled=batch is n, rtol=1e-4)
