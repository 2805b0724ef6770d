"""A network that was trained here, on scikit-learn's digits: what quantization costs its task."""

import numpy as np
import pytest

import relay
from relay import quantize

EPOCHS, BATCH = 30, 64


def trained():
    """A CNN in PyTorch, and images and labels that it has not seen."""
    torch = pytest.importorskip("torch")
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    torch.manual_seed(0)
    images, labels = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x = torch.tensor(images[order].reshape(-1, 1, 8, 8) / 16, dtype=torch.float32)
    y = torch.tensor(labels[order])
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
    )
    known = 1000
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(EPOCHS):
        for start in range(0, known, BATCH):
            optimizer.zero_grad()
            part = slice(start, min(start + BATCH, known))
            nn.functional.cross_entropy(model(x[part]), y[part]).backward()
            optimizer.step()
    model.eval()
    return model, x[:known].numpy(), x[known:].numpy(), y[known:].numpy()


@pytest.mark.full
def test_digits_are_still_read():
    model, known, others, labels = trained()
    import torch

    module = relay.frontend.from_pytorch(model, (torch.tensor(others),))
    module = module if isinstance(module, tuple) else (module, {})
    exact = relay.compile(*module)
    batches = [known[start : start + len(others)] for start in (0,)]
    batches = [np.resize(batch, others.shape) for batch in batches]

    def percent(exe):
        return 100 * float(np.mean(np.asarray(exe(others)).argmax(-1) == labels))

    wanted = percent(exact)
    assert wanted > 96
    for scheme, most in ((quantize.INT8, 0.3), (quantize.INT8_W4, 2.0)):
        how = quantize.int8(batches, scheme=scheme)
        found = percent(relay.compile(*module, quantize=how))
        print(scheme.name, wanted, found)
        assert found >= wanted - most
