"""Targets the way people write them: what they mean, and what is wrong with them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import relay
from relay.errors import TargetError
from relay.target import Target


def test_a_bare_name_is_this_machine():
    assert Target("llvm") == Target() == Target.host() == Target("llvm -mcpu=native")


@pytest.mark.parametrize(
    "text",
    [
        "llvm",
        "llvm -mcpu=skylake-avx512",
        "llvm -mcpu=skylake-avx512 -mattr=+avx512vnni,-avx512cd -mtriple=x86_64-linux-gnu",
        "llvm -mtriple=aarch64-linux-gnu",
        "llvm -mtriple arm64-apple-darwin -mcpu apple-m1",
        "llvm -level=avx512",
        "llvm -level=avx2",
        "llvm -level=baseline -mattr=+sse4.2",
    ],
)
def test_a_target_is_the_same_when_its_text_is_read_again(text):
    target = Target(text)
    assert Target(str(target)) == target
    assert hash(Target(str(target))) == hash(target)
    assert Target(target) == target
    assert repr(target) == f'Target("{target}")'


@pytest.mark.parametrize(
    ("text", "bits", "registers", "fma", "f16c", "vnni"),
    [
        ("llvm -mcpu=x86-64-v4", 512, 32, True, True, False),
        ("llvm -mcpu=cascadelake", 512, 32, True, True, True),
        ("llvm -mcpu=icelake-server", 512, 32, True, True, True),
        ("llvm -mcpu=znver4", 512, 32, True, True, True),
        ("llvm -level=avx2", 256, 16, True, True, False),
        ("llvm -mcpu=alderlake", 256, 16, True, True, True),
        ("llvm -mcpu=icelake-server -mattr=-avx512bw", 256, 16, True, True, True),
        ("llvm -mcpu=icelake-server -mattr=-avx2", 128, 16, True, True, False),
        ("llvm -mcpu=sandybridge", 128, 16, False, False, False),
        ("llvm -level=baseline", 128, 16, False, False, False),
        ("llvm -level=baseline -mattr=+fma,+avx2", 256, 16, True, False, False),
    ],
)
def test_what_an_x86_machine_can_do(text, bits, registers, fma, f16c, vnni):
    target = Target(text + " -mtriple=x86_64-linux-gnu")
    assert target.arch == "x86_64"
    assert (target.vector_bits, target.vector_registers) == (bits, registers)
    assert (target.has_fma, target.has_f16c, target.has_vnni) == (fma, f16c, vnni)


def test_what_an_arm_machine_can_do():
    target = Target.aarch64()
    assert (target.arch, target.system) == ("aarch64", "linux")
    assert (target.vector_bits, target.vector_registers) == (128, 32)
    assert (target.has_fma, target.has_f16c, target.has_vnni) == (True, True, False)


def test_levels_are_processors_everybody_knows():
    assert Target.x86("avx2").cpu == "x86-64-v3"
    assert Target.x86("baseline").cpu == "x86-64"
    assert Target.x86("avx512").cpu == "x86-64-v4"
    assert Target.x86("avx2").features == Target.x86("baseline").features == ""


def test_the_highest_level_takes_what_this_machine_adds():
    level, host = Target.x86("avx512"), Target.host()
    if host.vector_bits == 512:
        assert level.enabled == host.enabled
    else:
        assert level.features == ""


def test_features_are_what_differs_from_the_processor_and_in_order():
    text = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -mattr={}"
    assert Target(text.format("+avx512f,+avx2")).features == "+avx512f"
    assert Target(text.format("+fma,-fma,+fma")).features == ""
    assert Target(text.format("+gfni,-fma,+aes")).features == "+aes,+gfni,-fma"
    assert Target(text.format("-avx")).features == "-avx"
    assert Target("llvm -mcpu=generic") == Target("llvm -mattr=-avx")


def test_triples_have_four_parts():
    assert Target("llvm -mtriple=aarch64-linux-gnu").triple == "aarch64-unknown-linux-gnu"
    assert Target("llvm -mtriple=amd64-linux-gnu").triple == "x86_64-unknown-linux-gnu"
    assert Target("llvm -mtriple=arm64-apple-macos11").system == "darwin"


def test_a_machine_runs_what_asks_for_no_more_than_it_has():
    icelake = Target("llvm -mcpu=icelake-server -mtriple=x86_64-linux-gnu")
    skylake = Target("llvm -mcpu=skylake -mtriple=x86_64-linux-gnu")
    assert icelake.supports(skylake)
    assert not skylake.supports(icelake)
    assert "avx512f" in skylake.missing(icelake)
    assert "avx2" not in skylake.missing(icelake)
    assert skylake.missing(Target.aarch64()) == ("the architecture aarch64",)
    windows = Target("llvm -mcpu=skylake -mtriple=x86_64-pc-windows-msvc")
    assert skylake.missing(windows) == ("the system windows",)
    assert Target.host().supports(Target.host())


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a target needs a name", None),
        ("rocm", "there is no target `rocm`", None),
        ("llvm -mcpu=skylak", "`skylak` is not a processor of x86_64", "did you mean `skylake`"),
        ("llvm -mcpu=neoverse-n1", "`neoverse-n1` is not", "add -mtriple=aarch64-linux-gnu"),
        ("llvm -mcpu=i486", "`i486` is not", "-mcpu=x86-64 with -mattr"),
        ("llvm -mattr=+avx3", "`+avx3` is not an extension", "did you mean"),
        ("llvm -mattr=avx2", "`avx2` is not an extension", None),
        ("llvm -mtriple=sparc-linux-gnu", "no code can be made for", None),
        ("llvm -level=avx", "there is no level `avx`", "did you mean `avx2`"),
        ("llvm -level=avx2 -mcpu=skylake", "a level or a processor", None),
        ("llvm -level=avx2 -mtriple=aarch64-linux-gnu", "levels are of x86-64", None),
        ("llvm -num-cores=4", "no option `-num-cores=4`", None),
        ("llvm -mcup=skylake", "no option `-mcup=skylake`", "did you mean `mcpu`"),
        ("llvm skylake", "no option `skylake`", None),
        ("llvm -mcpu", "-mcpu needs a value", None),
        ("llvm -mcpu=skylake -mcpu=haswell", "given twice", None),
    ],
)
def test_what_is_wrong_is_said(text, message, hint):
    if Target.host().arch != "x86_64" and "mtriple" not in text and "level" not in text:
        text += " -mtriple=x86_64-linux-gnu"
    with pytest.raises(TargetError) as error:
        Target(text)
    assert message in str(error.value)
    if hint:
        assert hint in str(error.value)


def test_a_target_is_a_string():
    with pytest.raises(TargetError, match="a string such as `llvm`"):
        Target(3)


def test_a_target_does_not_change():
    with pytest.raises(AttributeError):
        Target().cpu = "haswell"


def test_a_target_that_was_entered_is_the_one_things_are_compiled_for():
    assert Target.current() is None
    with pytest.raises(TargetError, match="no target was entered"):
        Target.current(allow_none=False)
    x = relay.var("x", shape=(4,))
    program = relay.Function([x], relay.exp(x))
    with Target("llvm -level=baseline") as outer:
        assert Target.current() is outer
        with Target("llvm -level=avx2") as inner:
            assert Target.current() is inner
        assert relay.build(program).executable.code.target == outer
        assert relay.compile(program, target=inner).code.target == inner
    assert Target.current() is None


def test_a_target_that_was_entered_is_that_of_the_thread():
    with Target("llvm -level=baseline"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(Target.current).result() is None


def test_targets_as_they_are_written_elsewhere():
    target = Target("llvm", host="llvm")
    assert target == Target("llvm") == Target(Target("llvm"), "llvm -level=baseline")
    assert target.kind == "llvm" == target.kind.name
    options = {"kind": "llvm", "mcpu": "x86-64", "mattr": ["+avx2", "+fma"]}
    assert Target(options) == Target("llvm -mcpu=x86-64 -mattr=+avx2,+fma")
    assert Target({"cpu": "llvm"}) == Target({relay.cpu(0): Target("llvm")}) == target
    with pytest.raises(TargetError, match="machines of one kind"):
        Target("llvm -mtriple=aarch64-linux-gnu", host="llvm -mtriple=x86_64-linux-gnu")
    with pytest.raises(TargetError, match="no option"):
        Target({"kind": "llvm", "cores": 3})
