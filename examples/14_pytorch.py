"""A model of PyTorch: from eager to native code, to a .relayx file, to a library for C."""

import tempfile
from pathlib import Path

import torch
from torch.export import Dim

import relay


class Classifier(torch.nn.Module):
    """Words to scores of classes."""

    def __init__(self, words=100, width=32, classes=5):
        super().__init__()
        self.words = torch.nn.Embedding(words, width)
        self.norm = torch.nn.LayerNorm(width)
        self.hidden = torch.nn.Linear(width, 2 * width)
        self.scores = torch.nn.Linear(2 * width, classes)

    def forward(self, ids):
        found = self.norm(self.words(ids)).mean(1)
        return torch.softmax(self.scores(torch.relu(self.hidden(found))), -1)


model = Classifier().eval()
example = torch.randint(100, (2, 7))

# one line: example inputs in the place of shapes, the sizes that stay open as for torch.export
sizes = ({0: Dim("batch", min=1, max=64), 1: Dim("length", min=2, max=512)},)
exe = relay.compile(model, (example,), dynamic_shapes=sizes)
print(exe)
for shape in ((2, 7), (1, 3), (16, 100)):
    ids = torch.randint(100, shape)
    with torch.no_grad():
        torch.testing.assert_close(exe(ids), model(ids))

# parameters keep their names, and can be changed
weights = {name: torch.zeros_like(value) for name, value in model.scores.named_parameters()}
exe.set_params(**{f"scores.{name}": value for name, value in weights.items()})
torch.testing.assert_close(exe(example), torch.full((2, 5), 0.2))

# the module is Relay as any other
mod, params = relay.frontend.from_pytorch(model, (example,))
print(mod["main"].checked_type)

with tempfile.TemporaryDirectory() as folder:
    # what torch.export.save writes is read without running anything in it
    path = Path(folder) / "model.pt2"
    torch.export.save(torch.export.export(model, (example,)), path)
    exe = relay.compile(path)
    # one file, which loads in milliseconds and needs neither torch nor the model
    exe.save(Path(folder) / "model.relayx")
    loaded = relay.load(Path(folder) / "model.relayx")
    with torch.no_grad():
        torch.testing.assert_close(loaded(example), model(example))
    # and a library for C
    header = exe.export(Path(folder) / "classifier.o")
    print("for C:", header.name, "and classifier.o")
