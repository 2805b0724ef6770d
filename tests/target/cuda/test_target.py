import pickle
import sys

import pytest

import relay
from relay.cache import Cache
from relay.driver import compile_program
from relay.errors import TargetError
from relay.program.program import flatten
from relay.target import Target
from relay.target.cuda import driver
from relay.target.cuda.architecture import ARCHITECTURES, of_capability
from relay.target.cuda.target import CUDATarget
from relay.testing import mlp
from tests.support.gpu_texts import Uncompiled


def test_a_target_is_an_architecture_and_a_precision():
    target = Target("cuda -arch=sm_90 -precision=tf32")
    assert target == CUDATarget("sm_90", "tf32")
    assert str(target) == "cuda -arch=sm_90 -precision=tf32"
    assert Target(str(target)) == target and hash(Target(str(target))) == hash(target)
    assert str(Target({"kind": "cuda", "arch": "sm_80"})) == "cuda -arch=sm_80"
    assert pickle.loads(pickle.dumps(target)) == target


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_a_program_is_narrowed_between_its_arguments_and_results(kind):
    x, w = relay.var("x", shape=(40, 64)), relay.var("w", shape=(32, 64))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    made = compile_program(mod, target=Uncompiled("sm_90", kind), cache=Cache(None))
    main = made.program["main"]
    kinds = {main.registers[r].dtype for r in (*main.inputs, *flatten(main.result))}
    assert kinds == {"float32"}
    products = [k for k in made.program.kernels if "dense" in k.name]
    assert {spec.dtype for k in products for spec in k.inputs} == {kind}


@pytest.mark.parametrize(
    "text, message",
    [
        ("cuda -arch=sm_91", "there is no architecture `sm_91`"),
        ("cuda -arch=sm_90 -precision=half", "there is no precision `half`"),
        ("cuda -mcpu=h200", "a target has no option `-mcpu=h200`"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(TargetError, match=message):
        Target(text)


def test_code_of_an_older_architecture_of_the_generation_runs():
    assert ARCHITECTURES["sm_80"].runs_on(86)
    assert not ARCHITECTURES["sm_86"].runs_on(80)
    assert not ARCHITECTURES["sm_80"].runs_on(90)
    assert of_capability(9, 0).name == "sm_90"
    assert of_capability(8, 7).name == "sm_86"
    assert of_capability(7, 5) is None


@pytest.fixture
def no_driver(monkeypatch):
    def fail():
        raise TargetError.of("there is no working NVIDIA driver on this machine")

    monkeypatch.setattr(driver, "open_driver", fail)


def test_without_a_gpu_the_architecture_must_be_named(no_driver):
    with pytest.raises(TargetError, match="no working NVIDIA driver") as error:
        Target("cuda")
    assert "-arch=sm_90" in str(error.value)
    assert str(Target("cuda -arch=sm_90")) == "cuda -arch=sm_90"


def test_without_a_gpu_running_is_refused(no_driver):
    with pytest.raises(TargetError, match="no working NVIDIA driver"):
        CUDATarget("sm_90").require_here("the code")


def test_another_gpu_is_refused(monkeypatch):
    class Here:
        architecture = ARCHITECTURES["sm_80"]

    monkeypatch.setattr(driver, "open_driver", Here)
    CUDATarget("sm_80").require_here("the code")
    with pytest.raises(TargetError, match="made for another GPU") as error:
        CUDATarget("sm_90").require_here("the code")
    assert "target='cuda -arch=sm_80'" in str(error.value)


def test_without_triton_compiling_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    mod, params = mlp.get_workload(batch_size=1)
    with pytest.raises(TargetError, match="Triton, which is not installed") as error:
        relay.compile(mod, params, target=CUDATarget("sm_90"), cache=Cache(None))
    assert "pip install 'relay[cuda]'" in str(error.value)
