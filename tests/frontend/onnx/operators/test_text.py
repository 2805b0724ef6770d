"""Words, and words in a row, counted in documents: against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, main_type, model

ROWS = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8], [7, 8, 2, 3, 5, 4]], "int64")
# four words; three pairs, one of which goes on to be the first of the two triples
POOL: dict[str, Any] = {
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 7, 8, 2, 3, 3, 3],
    "ngram_counts": [0, 4, 10],
    "ngram_indexes": [0, 1, 2, 3, 6, 5, 4, 7, 8],
}
WEIGHTS = [0.5, 1.0, 2.0, 3.0, 0.25, 4.0, 7.0, 1.5, 6.0]


def vectorizer(data: np.ndarray = ROWS, **attributes: Any) -> Any:
    how = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 0}
    return model("TfIdfVectorizer", data, opset=9, **{**how, **POOL, **attributes})


@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize("skip", [0, 1, 5])
def test_words_at_equal_distances_are_counted(lengths: tuple[int, int], skip: int) -> None:
    shortest, longest = lengths
    given = vectorizer(min_gram_length=shortest, max_gram_length=longest, max_skip_count=skip)
    agree(given, ROWS)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_counts_are_weighted(mode: str) -> None:
    agree(vectorizer(mode=mode, weights=WEIGHTS), ROWS)
    agree(vectorizer(mode=mode), ROWS)


def test_a_single_document() -> None:
    row = ROWS[1].astype("int32")
    agree(vectorizer(row, max_skip_count=2), row)


def test_any_number_of_documents() -> None:
    given = vectorizer(max_skip_count=1, shapes={0: ("n", 6)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 9), float32]"
    agree(given, ROWS)


def test_documents_shorter_than_the_distance() -> None:
    agree(vectorizer(ROWS[:, :2], max_skip_count=3), ROWS[:, :2])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"mode": "odd"}, "no such mode"),
        ({"mode": "IDF", "weights": [1.0]}, "not as many weights"),
        ({"ngram_indexes": [0, 1]}, "too short"),
    ],
)
def test_what_makes_no_sense_is_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(vectorizer(**attributes))


def test_strings_are_refused() -> None:
    given = vectorizer()
    given.graph.node[0].attribute.append(helper.make_attribute("pool_strings", ["a"]))
    with pytest.raises(FrontendError, match="strings cannot be computed with"):
        from_onnx(given)
