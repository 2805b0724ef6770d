"""The frontend on the page about frontends imports a model, and its errors name nodes."""

import re
from functools import cache
from pathlib import Path

import pytest

import relay
from relay.errors import FrontendError, TypeCheckError

PAGE = (Path(__file__).parents[2] / "docs/adding/frontend.md").read_text(encoding="utf-8")


@cache
def page():
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(compile(program, "frontend.md", "exec"), names)
    return names


def test_the_frontend_shown_makes_a_module_with_the_names_of_nodes():
    module, params = page()["from_layers"](page()["MODEL"])
    calls = [e for e in relay.tree.postorder(module["main"]) if isinstance(e, relay.Call)]
    assert [str(call.span) for call in calls] == ["node `layer`", "node `half`"]
    assert list(params) == ["w"]


@pytest.mark.parametrize(
    ("right", "wrong", "error", "place"),
    [
        ('"dense"', '"dens"', FrontendError, r"node `layer`[\s\S]*did you mean `dense`"),
        ('["layer"]', '["layr"]', FrontendError, r"node `half`[\s\S]*did you mean `layer`"),
        ("[1, 3]", "[1, 4]", TypeCheckError, r"node `layer`[\s\S]*4 and 3"),
    ],
)
def test_a_mistake_in_a_model_is_an_error_that_names_the_node(right, wrong, error, place):
    with pytest.raises(error, match=place):
        module, _ = page()["from_layers"](page()["MODEL"].replace(right, wrong))
        relay.transform.InferType()(module)


def test_the_error_shown_is_the_error_there_is():
    (shown,) = re.findall(r"```\n(type mismatch.*?)```", PAGE, re.DOTALL)
    module, _ = page()["from_layers"](page()["MODEL"].replace("[1, 3]", "[1, 4]"))
    with pytest.raises(TypeCheckError) as caught:
        relay.transform.InferType()(module)
    assert str(caught.value).strip() == shown.strip()
