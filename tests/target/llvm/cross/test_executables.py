"""Models compiled for other machines than this one."""

import numpy as np
import pytest

import relay
from relay.errors import RelayError, TargetError
from relay.target import Target
from relay.testing import mlp, tree_lstm
from tests.support.emulators import MACHINES

CORTEX = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76"
WITHOUT = [Target.host().arch]  # tests are about machines of another kind
TARGETS = [m.target for name, m in MACHINES.items() if Target(m.target).arch not in WITHOUT]


@pytest.fixture(scope="module")
def model():
    return mlp.get_workload(2)


@pytest.mark.parametrize("target", TARGETS)
def test_constants_are_packed_as_the_other_machine_reads_them(model, target):
    exe = relay.compile(*model, target=target)
    assert exe.memory.constants > 0 and exe.memory.arena > 0
    assert exe.memory.inputs == 2 * 784 * 4
    packed = {name for name in exe.constants if name.startswith("packed")}
    given = exe.params
    for name in packed:  # the same numbers in another order, and zeros beyond the last
        numbers = np.sort(exe.constants[name].numpy(), axis=None)
        some = [np.sort(array.numpy(), axis=None) for array in given.values()]
        assert any(np.isin(array, numbers).all() for array in some if array.size > 100)


def test_a_call_says_what_to_do(model):
    exe = relay.compile(*model, target=CORTEX)
    for call in (exe, exe.evaluate, exe.profile, exe.benchmark):
        with pytest.raises(TargetError, match=r"exe.save\(file\) for relay.load there"):
            call()


def test_it_is_saved_with_what_was_packed(model, tmp_path):
    exe = relay.compile(*model, target=CORTEX)
    exe.save(tmp_path / "model.relayx")
    assert (tmp_path / "model.relayx").stat().st_size > exe.memory.constants
    if Target.host().arch != "aarch64":
        with pytest.raises(TargetError, match="a machine with the architecture aarch64"):
            relay.load(tmp_path / "model.relayx")


def test_weights_may_change_before_it_is_exported(model, tmp_path):
    exe = relay.compile(*model, target=CORTEX)
    exe.export(tmp_path / "a.o", name="net")
    name, weight = max(exe.params.items(), key=lambda pair: pair[1].numpy().size)
    exe.set_params({name: weight.numpy() + 1})
    exe.export(tmp_path / "b.o", name="net")
    assert (tmp_path / "a.o").read_bytes() != (tmp_path / "b.o").read_bytes()
    exe.set_params({name: weight})
    exe.export(tmp_path / "c.o", name="net")
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "c.o").read_bytes()


def test_a_folder_has_all_that_a_compiler_needs(model, tmp_path):
    exe = relay.compile(*model, target=CORTEX)
    header = exe.export(tmp_path / "digits", "folder")
    assert header == tmp_path / "digits" / "digits.h"
    names = {path.name for path in (tmp_path / "digits").iterdir()}
    assert names == {"digits.o", "digits.h", "main.c", "Makefile"}
    if Target.host().arch != "aarch64":
        makefile = (tmp_path / "digits" / "Makefile").read_text()
        assert "CC = aarch64-linux-gnu-gcc" in makefile
    with pytest.raises(RelayError, match="has its weights inside"):
        exe.export(tmp_path / "other", "folder", embed=False)
    with pytest.raises(RelayError, match="no name in C"):
        exe.export(tmp_path / "other", "folder", name="a b")
    assert not (tmp_path / "other").exists()


def test_a_whole_program_is_compiled_for_another_machine_too(tmp_path):
    mod, params = tree_lstm.get_workload(4, 3)
    exe = relay.compile(mod, params, target=CORTEX)
    assert exe.memory.constants > 0
    exe.export(tmp_path / "tree", "folder")
    assert "tree_create" in (tmp_path / "tree" / "main.c").read_text()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (
            "llvm -device=arm_cpu -model=rasp3b",
            "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a53",
        ),
        ("llvm -model=rk3399", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"),
        ("llvm -device=arm_cpu", "llvm -mtriple=aarch64-linux-gnu"),
        (
            "llvm -device=arm_cpu -mtriple=armv7l-linux-gnueabi -mfloat-abi=hard",
            "llvm -mtriple=armv7-linux-gnueabihf",
        ),
        (
            "llvm -device=arm_cpu -model=bcm2837 -mtriple=armv7l-linux-gnueabihf -mattr=+neon",
            "llvm -model=rasp3b",
        ),
        ("wasm32", "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128"),
    ],
)  # fmt: skip
def test_names_that_people_know_are_understood(text, same):
    assert Target(text) == Target(same) == Target(str(Target(text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("llvm -model=rasp3c", "did you mean `rasp3b`"),
        ("llvm -device=arm", "did you mean `arm_cpu`"),
        ("llvm -device=arm_cpu -mtriple=x86_64-linux-gnu", "no machine of the device `arm_cpu`"),
        ("llvm -mtriple=aarch64-linux-gnu -mfloat-abi=hard", "of 32-bit ARM"),
        ("llvm -mtriple=mips-linux-gnu", "64-bit RISC-V"),
        ("llvm -mtriple=riscv64-linux-gnu -mattr=+vector", "not an extension of riscv64"),
        ("llvm -mcpu=cortex-m4", "add -mtriple=thumbv7em-none-eabihf"),
    ],
)
def test_what_is_wrong_with_a_machine_is_said(text, message):
    with pytest.raises(TargetError) as error:
        Target(text)
    assert message in str(error.value)
