"""Fourier transforms: the sum of the definition, and PyTorch's over time."""

import numpy as np
import torch


def dft(re_data, im_data, inverse):
    numbers = re_data.astype(np.float64) + 1j * im_data.astype(np.float64)
    count = numbers.shape[-1]
    n = np.arange(count)
    sign = 1 if inverse else -1
    waves = np.exp(sign * 2j * np.pi * np.outer(n, n) / max(count, 1))
    found = numbers @ waves / (count if inverse else 1)
    return found.real, found.imag


def rfft(data):
    re, im = dft(data, np.zeros_like(data), False)
    kept = data.shape[-1] // 2 + 1
    return re[..., :kept], im[..., :kept]


def stft(data, window, n_fft, hop_length, win_length, normalized, onesided):
    found = torch.stft(
        torch.from_numpy(data.astype(np.float64)),
        n_fft,
        hop_length if hop_length > 0 else n_fft // 4,
        win_length if win_length > 0 else n_fft,
        torch.from_numpy(window.astype(np.float64)),
        center=False,
        normalized=normalized,
        onesided=onesided,
        return_complex=True,
    )
    return torch.view_as_real(found).numpy()


ORACLES = {"dft": dft, "rfft": rfft, "stft": stft}
