"""Threefry-4x64 in Python's own integers, and what is made of its bits."""

import bisect
import itertools
import math

import numpy as np

MASK = 2**64 - 1
ROTATIONS = (14, 16, 52, 57, 23, 40, 5, 37, 25, 33, 46, 12, 58, 22, 32, 32)


def threefry(counter, key):
    """20 rounds; the pairs alternate instead of the words changing places."""
    keys = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = [(c + k) & MASK for c, k in zip(counter, key, strict=True)]
    for step in range(20):
        for half, (i, j) in enumerate(((0, 1), (2, 3)) if step % 2 == 0 else ((0, 3), (2, 1))):
            r = ROTATIONS[2 * (step % 8) + half]
            x[i] = (x[i] + x[j]) & MASK
            x[j] = ((x[j] << r | x[j] >> (64 - r)) & MASK) ^ x[i]
        if step % 4 == 3:
            s = step // 4 + 1
            x = [(word + keys[(s + i) % 5]) & MASK for i, word in enumerate(x)]
            x[3] = (x[3] + s) & MASK
    return x


def words(generator):
    """All that a generator gives, one after the other."""
    key, low, high = [int(w) for w in generator[:4]], int(generator[4]), int(generator[5])
    for block in itertools.count((high << 64) + low):
        yield from threefry((block & MASK, block >> 64 & MASK, 0, 0), key)


def take(generator, count):
    taken = ((int(generator[5]) << 64) + int(generator[4]) + -(-count // 4)) % 2**128
    following = [*generator[:4], taken & MASK, taken >> 64, *generator[6:]]
    return np.array(following, np.uint64), list(itertools.islice(words(generator), count))


def threefry_generate(key, out_shape):
    following, found = take(key, math.prod(out_shape))
    return following, np.array(found, np.uint64).reshape(out_shape)


def threefry_split(key):
    made = []
    for purpose in (1, 2):
        counter = (int(key[4]), int(key[5]), purpose, 0)
        made.append(threefry(counter, [int(w) for w in key[:4]]) + [0] * 6)
    return tuple(np.array(words, np.uint64) for words in made)


def share(word):
    return (word >> 11) / 2**53


def uniform(key, low, high, out_shape, out_dtype):
    following, found = take(key, math.prod(out_shape))
    low, high = float(low), float(high)
    return following, np.array([low + share(w) * (high - low) for w in found]).reshape(out_shape)


def normal(key, mean, scale, out_shape, out_dtype):
    following, found = take(key, 2 * math.prod(out_shape))
    values = [
        float(mean)
        + float(scale) * math.sqrt(-2 * math.log(1 - share(a))) * math.cos(2 * math.pi * share(b))
        for a, b in zip(found[::2], found[1::2], strict=True)
    ]
    return following, np.array(values).reshape(out_shape)


def multinomial(key, probs, num_samples):
    *batch, classes = probs.shape
    rows = probs.reshape(-1, classes).astype(float)
    following, found = take(key, len(rows) * num_samples)
    chosen = []
    for row, start in zip(rows, itertools.count(0, num_samples)):
        sums = list(itertools.accumulate(max(p, 0.0) for p in row))
        for word in found[start : start + num_samples]:
            chosen.append(min(bisect.bisect_right(sums, share(word) * sums[-1]), classes - 1))
    return following, np.array(chosen).reshape(*batch, num_samples)


def dropout_training(key, data, rate):
    following, found = take(key, data.size)
    kept = np.array([share(w) >= rate for w in found]).reshape(data.shape)
    return following, np.where(kept, data.astype(float) / (1 - rate), 0)


ORACLES = {
    "nn.dropout_training": dropout_training,
    "random.threefry_generate": threefry_generate,
    "random.threefry_split": threefry_split,
    "random.uniform": uniform,
    "random.normal": normal,
    "random.multinomial": multinomial,
}
