"""Executables for another machine, which are saved here and run there."""

import numpy as np
import pytest

import relay
from relay.driver import compile_program
from relay.errors import TargetError
from relay.executors.elsewhere import ElsewhereExecutable
from relay.executors.make import make_executable
from relay.target.llvm.target import LLVMTarget
from relay.testing import mlp


class Away(LLVMTarget):
    """This machine, as one that is somewhere else."""

    def require_here(self, what):
        raise TargetError.of(f"{what} runs elsewhere")

    def elsewhere(self, *parts, **kept):
        return None


@pytest.fixture
def model():
    return mlp.get_workload(2)


def away(model, **options):
    here = LLVMTarget.here()
    target = Away(here.triple, here.cpu, here.features)
    made = compile_program(*model, target=target, **options)
    return make_executable(made.program, made.code, made.weights)


def test_what_was_saved_elsewhere_runs_here(model, tmp_path):
    exe = away(model)
    assert isinstance(exe, ElsewhereExecutable)
    exe.save(tmp_path / "model.relayx")
    here = relay.compile(*model)
    (x,) = here.example_inputs()
    loaded = relay.load(tmp_path / "model.relayx")
    np.testing.assert_array_equal(loaded(x), here(x))
    loaded.save(tmp_path / "again.relayx")
    np.testing.assert_array_equal(relay.load(tmp_path / "again.relayx")(x), here(x))


def test_it_says_why_it_does_not_run_here(model, tmp_path):
    exe = away(model)
    for call in (exe, exe.evaluate, exe.profile, exe.set_params, exe.benchmark):
        with pytest.raises(TargetError, match="runs elsewhere"):
            call()
    for name in ("net.o", "net.a"):
        with pytest.raises(TargetError, match="runs elsewhere"):
            exe.export(tmp_path / name, embed=False)
    assert not list(tmp_path.iterdir())


def test_it_can_be_looked_at(model):
    exe, here = away(model), relay.compile(*model)
    assert [kernel.name for kernel in exe.kernels] and "data: float32[2, 1, 28, 28]" in repr(exe)
    assert exe.params.keys() == here.params.keys()
    assert exe.memory.constants == sum(value.array.nbytes for value in exe.params.values())


def test_a_whole_program_is_saved_as_well(tmp_path):
    program = """
    #[version = "0.0.5"]
    def @main(%n: int32, %x: Tensor[(3), float32]) -> Tensor[(3), float32] {
      if (equal(%n, 0)) { %x } else { @main(subtract(%n, 1), add(%x, %x)) }
    }
    """
    away((relay.parse(program),)).save(tmp_path / "loop.relayx")
    found = relay.load(tmp_path / "loop.relayx")(3, np.ones(3, "float32"))
    np.testing.assert_array_equal(found, np.full(3, 8))


def test_a_gpu_need_not_be_there_to_compile_for_one(tmp_path):
    pytest.importorskip("triton", reason="the extra `cuda` is not installed")
    x = relay.var("x", shape=(4, 8))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    exe = relay.compile(mod, target="cuda -arch=sm_80")
    exe.save(tmp_path / "model.relayx")
    assert (tmp_path / "model.relayx").stat().st_size > 1000
