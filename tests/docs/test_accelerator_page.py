"""The page about the accelerator: its programs run, its pictures are those of its instructions."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

from relay.target.accel.config import Config
from relay.target.accel.isa import Finish, Noop
from relay.target.accel.simulator import timed
from tests.docs.test_every_block import programs, run

DOCS = Path(__file__).parents[2] / "docs"


def test_the_programs_of_the_page_run(capsys):
    names = run("\n".join(programs("docs/accelerator.md")))
    printed = capsys.readouterr().out
    assert "conv 3x3 32 -> 32, 32x32" in printed and "no other one is both faster" in printed
    assert names["smallest"].log_acc == 14


def test_the_pictures_are_drawn_from_a_design_and_from_real_instructions():
    spec = importlib.util.spec_from_file_location("made", DOCS / "generate_accelerator.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    code = made.layer(Config())
    run_of_it = timed(code.config, code.program)
    picture = made.schedule(code, run_of_it)
    assert picture == made.SCHEDULE.read_text(encoding="utf-8")
    assert made.design(Config()) == made.DESIGN.read_text(encoding="utf-8")
    shown = [one for one in code.program if not isinstance(one, Noop | Finish)]
    assert picture.count("<title>") == len(shown)
    given = sum(one.sync.push_prev + one.sync.push_next for one in code.program)
    assert picture.count("<line") == given > 20
    for text in (picture, made.design(Config())):
        ElementTree.fromstring(text)
