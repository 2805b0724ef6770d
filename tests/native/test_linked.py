"""The runtime without Python: linked into a C program, for this machine and for another."""

import shutil
import subprocess

import pytest

from relay.native.runtime import portable, runtime_object
from relay.target import Target
from relay.target.llvm.compile import compile_module

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int relay_run(void *context, void *table, int64_t count, void *frame);
void relay_context(void *context, int64_t threads);
int relay_pool_stop(void);
int counts(void *, void *), nested(void *, void *), halves(void *, void *), fails(void *, void *);

struct call { int (*kernel)(void *, void *); int32_t *indices; int64_t count; };
static int32_t indices[3] = {0, 1, 2};
static int64_t context[8], data[1000];

static int run(int (*kernel)(void *, void *), int64_t a, int64_t b, int64_t c) {
  int64_t frame[3] = {a, b, c};
  struct call call = {kernel, indices, 3};
  return relay_run(context, &call, 1, frame);
}

int main(void) {
  for (int threads = 1; threads <= 4; threads++)
    for (int extent = 0; extent < 1000; extent += 111) {
      memset(data, 0, sizeof data);
      relay_context(context, threads);
      if (run(counts, (int64_t)data, extent, 50)) return 1;
      for (int i = 0; i < 1000; i++)
        if (data[i] != (i < extent ? 50 : 0)) return 2;
      if (extent % 333 == 0) usleep(5000); /* until the threads sleep */
    }
  memset(data, 0, sizeof data);
  if (run(nested, (int64_t)data, 100, 0)) return 3;
  for (int i = 0; i < 1000; i++)
    if (data[i] != 1) return 4;
  volatile double small = 3e-308;
  double values[64];
  for (int i = 0; i < 64; i++) values[i] = small;
  if (run(halves, (int64_t)values, 64, 0)) return 5;
  for (int i = 0; i < 64; i++)
    if (values[i] != small / 2) return 6;
  if (run(fails, 0, 0, 0) != 1 || context[5] != -7 || context[7] != 0) return 7;
  if (relay_pool_stop()) return 8;
  puts("fine");
  return 0;
}
"""
MACHINES = {
    "host": (portable(Target.host()), "cc", []),
    "aarch64": (
        Target.aarch64(),
        "aarch64-linux-gnu-gcc",
        ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"],
    ),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_c_program_runs_kernels_with_it(machine, tmp_path, kernel_text):
    target, linker, emulator = MACHINES[machine]
    for tool in [linker, *emulator[:1]]:
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool} here")
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "runtime.o").write_bytes(runtime_object(target))
    (tmp_path / "kernels.o").write_bytes(compile_module([kernel_text], target))
    files = ["main.c", "runtime.o", "kernels.o", "-o", "program", "-pthread"]
    subprocess.run([linker, *files], cwd=tmp_path, check=True)
    done = subprocess.run(
        [*emulator, tmp_path / "program"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a linker")
def test_it_can_be_part_of_a_shared_library(tmp_path, kernel_text):
    target = portable(Target.host())
    (tmp_path / "runtime.o").write_bytes(runtime_object(target))
    (tmp_path / "kernels.o").write_bytes(compile_module([kernel_text], target))
    files = ["runtime.o", "kernels.o", "-o", "library.so", "-pthread"]
    # `text`: an error if the code had to be changed to lie where it is loaded
    subprocess.run(
        ["cc", "-shared", "-Wl,-z,text", "-Wl,-z,defs", *files], cwd=tmp_path, check=True
    )
    (tmp_path / "main.c").write_text(PROGRAM)
    subprocess.run(["cc", "main.c", "./library.so", "-o", "program"], cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
