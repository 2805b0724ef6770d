"""What the README shows is what happens."""

import re
from pathlib import Path

import relay

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_first_program_prints_what_the_readme_shows(capsys):
    program, shown = re.search(
        r"<!-- first program -->\n```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL
    ).groups()
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == shown.strip()


def test_the_error_shown_is_the_error_given():
    shown = re.search(r"```\n(type mismatch.*?)```", README, re.DOTALL)[1]
    wrong = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 32), float32], %y: Tensor[(8, 64), float32]) {
  %0 = nn.relu(%x);
  add(%0, %y)
}
"""
    try:
        relay.parse(wrong, "model.relay")
    except relay.TypeCheckError as error:
        assert str(error).strip() == shown.strip()
    else:
        raise AssertionError("the program was accepted")
