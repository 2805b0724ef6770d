"""Whole programs for programs in C: built with the system's compiler, run, and compared."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import relay
from relay.driver import compile_program
from relay.errors import RelayError
from relay.executors.artifact import load
from relay.frontend.python.standard import Rose
from relay.parser import parse
from relay.prelude import Prelude
from relay.target.llvm.c.program_library import ProgramLibrary
from relay.target.llvm.c.types import FUNCTIONS
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from relay.target.target import Target
from relay.testing import tree_lstm

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


def build(folder, source, library, *options):
    (folder / "main.c").write_text(source)
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", *options]
    command = [COMPILER, *flags, "-o", "main", "main.c", library, "-pthread"]
    subprocess.run(command, cwd=folder, check=True)


def run(folder, *arguments, **options):
    return subprocess.run(
        [str(folder / "main"), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": str(folder)},
        **options,
    )


# --- a tree that a program in C builds -----------------------------------------------------------

INPUTS, HIDDEN = 8, 4


@pytest.fixture(scope="module")
def tree_model():
    mod, params = tree_lstm.get_workload(INPUTS, HIDDEN)
    return relay.compile(mod, params)


def random_tree(chance, size):
    """A tree of so many nodes."""
    nodes = [Rose(chance.standard_normal((1, INPUTS), np.float32), []) for _ in range(size)]
    for number in range(1, size):
        nodes[chance.integers(number)].children.append(nodes[number])
    return nodes[0]


def described(tree):
    """Of every node how many are below it, and its value; the node before those below it."""
    pending, words = [tree], []
    while pending:
        node = pending.pop()
        words.append(str(len(node.children)))
        words += [repr(float(number)) for number in node.value.flat]
        pending += reversed(node.children)
    return " ".join(words)


TREE = """
#include <stdio.h>
#include <stdlib.h>
#include "tree.h"

enum { INPUTS = 8, HIDDEN = 4 };
static const int64_t SIZES[] = {1, INPUTS};

static tree_Tree *read_tree(tree *model) {
  int below;
  float value[INPUTS];
  if (scanf("%d", &below) != 1) exit(2);
  for (int i = 0; i < INPUTS; i++)
    if (scanf("%f", &value[i]) != 1) exit(2);
  tree_Tree *trees[64];
  for (int i = 0; i < below; i++) trees[i] = read_tree(model);
  tree_List *list = tree_List_Nil();
  for (int i = below; i-- > 0;) list = tree_List_Cons(model, trees[i], list);
  return tree_Tree_Rose(model, tree_float32_copy(model, value, 2, SIZES), list);
}

int main(int count, char **arguments) {
  tree *model;
  int status = tree_create(&model, count > 1 ? arguments[1] : NULL, 1);
  if (status) return puts(tree_error(status)), status;
  tree_Tree *root = read_tree(model);
  for (int turn = 0; turn < 2; turn++) {
    tree_float32 *state, *cell;
    status = tree_run(model, root, &state, &cell);
    if (status) return puts(tree_message(model)), status;
    if (tree_rank(state) != 2 || tree_sizes(state)[0] != 1 || tree_sizes(state)[1] != HIDDEN)
      return 3;
    for (int i = 0; i < HIDDEN; i++) printf("%.9g ", tree_float32_data(state)[i]);
    for (int i = 0; i < HIDDEN; i++) printf("%.9g ", tree_float32_data(cell)[i]);
    tree_release(model, state);
    tree_release(model, cell);
  }
  tree_release(model, root);
  if (tree_live(model)) return 4;
  tree_destroy(model);
  return 0;
}
"""


def check_tree(folder, tree_model, *arguments):
    chance = np.random.default_rng(7)
    for size in (1, 2, 40):
        tree = random_tree(chance, size)
        done = run(folder, *arguments, input=described(tree))
        assert done.returncode == 0, done.stdout
        expected = np.concatenate([part.ravel() for part in tree_model(tree)])
        found = np.array(done.stdout.split(), np.float32)
        np.testing.assert_array_equal(found, np.tile(expected, 2))


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "file"), [("object", "tree.o"), ("archive", "libtree.a"), ("shared", "libtree.so")]
)
def test_a_c_program_runs_the_model_on_a_tree_it_built(tree_model, tmp_path, kind, file):
    tree_model.export(tmp_path / file, kind).rename(tmp_path / "tree.h")
    build(tmp_path, TREE, file)
    check_tree(tmp_path, tree_model)


@needs_compiler
def test_weights_may_be_a_file(tree_model, tmp_path):
    tree_model.export(tmp_path / "tree.o", embed=False)
    build(tmp_path, TREE, "tree.o")
    check_tree(tmp_path, tree_model, "tree.weights")
    assert run(tmp_path).stdout == "the weights are not inside; name their file\n"
    other = run(tmp_path, "main.c").stdout
    assert other == "the file of weights belongs to another model\n"


@needs_compiler
def test_changed_weights_are_exported(tree_model, tmp_path):
    mod, params = tree_lstm.get_workload(INPUTS, HIDDEN)
    exe = relay.compile(mod, params)
    exe.set_params(h2h_weight=params["h2h_weight"].numpy() + 1)
    exe.export(tmp_path / "tree.o")
    build(tmp_path, TREE, "tree.o")
    check_tree(tmp_path, exe)


@needs_compiler
def test_only_the_functions_of_the_header_are_seen(tree_model, tmp_path):
    tree_model.export(tmp_path / "tree.o")
    if (nm := shutil.which("nm")) is None:
        pytest.skip("there is no nm")
    command = [nm, "--extern-only", "--defined-only", "tree.o"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in found.stdout.splitlines()}
    assert names == {f"tree_{verb}" for verb in FUNCTIONS}


@needs_compiler
def test_the_header_is_c_plus_plus_too(shapes, tmp_path):
    if (compiler := shutil.which("c++")) is None:
        pytest.skip("there is no C++ compiler")
    shapes.export(tmp_path / "shapes.o")
    (tmp_path / "main.cpp").write_text('#include "shapes.h"\nint main() { return 0; }\n')
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-c", "main.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)


# --- all kinds of values -------------------------------------------------------------------------

SHAPES = """#[version = "0.0.5"]
type Figure {
  Circle(float32),
  Box(float32, (int32, bool)),
}

def @count(%n: int32) -> int32 {
  if (%n <= 0) { 0 } else { 1 + @count(%n - 1) }
}

def @total[n: Shape](
  %xs: List[Tensor[(n, 3), float32]],
  %so_far: Tensor[(n, 3), float32],
) -> Tensor[(n, 3), float32] {
  match (%xs) {
    Cons(%x, %rest) => @total(%rest, %so_far + %x),
    Nil => %so_far,
  }
}

def @main[n: Shape](
  %x: Tensor[(n, 3), float32],
  %pair: (Tensor[(n, 3), float32], int32),
  %figure: Figure,
  %xs: List[Tensor[(n, 3), float32]],
) -> (
  Tensor[(n, 3), float32],
  List[(Tensor[(n, 3), float32], bool)],
  Option[int32],
  float32
) {
  let %depth = @count(%pair.1);
  let %sum = @total(%xs, %x + %pair.0);
  let %size = match (%figure) {
    Circle(%radius) => %radius * 3f,
    Box(%a, %b) => if (%b.1) { %a } else { cast(%b.0, dtype="float32") },
  };
  let %found = if (%depth < 3) { None } else { Some(%depth) };
  (%sum, Cons((%sum * %size, %depth < 10), Cons((%x, True), Nil)), %found, %size)
}
"""


@pytest.fixture(scope="module")
def shapes():
    return relay.compile(parse(SHAPES, "shapes.relay", Prelude().mod))


VALUES = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "shapes.h"

#define REQUIRE(condition) \\
  do { if (!(condition)) { printf("line %d: %s\\n", __LINE__, #condition); exit(1); } } while (0)

static shapes *model;
static float numbers[1 << 16];

static shapes_float32 *rows(int64_t count) {
  return shapes_float32_borrow(model, numbers, 2, (int64_t[]){count, 3});
}

static shapes_float32 *sum;
static shapes_List_2 *list;
static shapes_Option *found;
static float size;

/* Takes its arguments over, and lets go of the results. */
static int run(shapes_float32 *x, shapes_float32 *y, int depth, shapes_Figure *f, shapes_List *l) {
  int status = shapes_run(model, x, y, depth, f, l, &sum, &list, &found, &size);
  shapes_release(model, x);
  shapes_release(model, y);
  shapes_release(model, f);
  shapes_release(model, l);
  return status;
}

static void drop_results(void) {
  shapes_release(model, sum);
  shapes_release(model, list);
  shapes_release(model, found);
}

static void results(int64_t n, int depth) {
  shapes_float32 *shared = rows(n);
  shapes_List *xs = shapes_List_Cons(model, shapes_hold(model, shared), shapes_List_Nil());
  xs = shapes_List_Cons(model, shared, xs);
  shapes_Figure *box = shapes_Figure_Box(model, 2.5f, -7, false);
  REQUIRE(shapes_Figure_tag(box) == shapes_Figure_Box_tag);
  REQUIRE(shapes_Figure_Box_0(box) == 2.5f);
  REQUIRE(shapes_Figure_Box_1_0(box) == -7);
  REQUIRE(shapes_Figure_Box_1_1(box) == false);
  REQUIRE(shapes_Figure_Circle_0(box) == 0);
  REQUIRE(run(rows(n), rows(n), depth, box, xs) == 0);
  REQUIRE(size == -7);
  REQUIRE(shapes_rank(sum) == 2 && shapes_sizes(sum)[0] == n && shapes_sizes(sum)[1] == 3);
  for (int64_t i = 0; i < 3 * n; i++) REQUIRE(shapes_float32_data(sum)[i] == 4 * numbers[i]);
  if (depth < 3) {
    REQUIRE(shapes_Option_tag(found) == shapes_Option_None_tag);
    REQUIRE(found == shapes_Option_None());
  } else {
    REQUIRE(shapes_Option_tag(found) == shapes_Option_Some_tag);
    REQUIRE(shapes_Option_Some_0(found) == depth);
  }
  int length = 0;
  for (shapes_List_2 *at = list; shapes_List_2_tag(at) == shapes_List_2_Cons_tag;
       at = shapes_List_2_Cons_1(at)) {
    const float *data = shapes_float32_data(shapes_List_2_Cons_0_0(at));
    for (int64_t i = 0; i < 3 * n; i++)
      REQUIRE(data[i] == (length ? numbers[i] : -28 * numbers[i]));
    REQUIRE(shapes_List_2_Cons_0_1(at) == (length ? true : depth < 10));
    length++;
  }
  REQUIRE(length == 2);
  /* what was inside stays there when it is held by itself */
  shapes_float32 *inside = shapes_hold(model, shapes_List_2_Cons_0_0(list));
  drop_results();
  REQUIRE(n == 0 || shapes_float32_data(inside)[0] == -28 * numbers[0]);
  shapes_release(model, inside);
  REQUIRE(shapes_live(model) == 0);
}

static void fails(int status, int expected, const char *message) {
  if (status != expected || !strstr(shapes_message(model), message)) {
    printf("%d %s, not %d %s\\n", status, shapes_message(model), expected, message);
    exit(1);
  }
  REQUIRE(sum == NULL && list == NULL && found == NULL);
  REQUIRE(shapes_live(model) == 0);
}

static shapes_List *one(shapes_float32 *tensor) {
  return shapes_List_Cons(model, tensor, shapes_List_Nil());
}

static void errors(void) {
  int64_t wrong[] = {2, 4}, minus[] = {2, -3};
  shapes_List *nil = shapes_List_Nil();
  fails(run(rows(2), shapes_float32_borrow(model, numbers, 2, wrong), 1,
            shapes_Figure_Circle(model, 1), nil),
        SHAPES_WRONG_VALUE, "dimension 1 of argument `pair_0` is 4, not 3");
  fails(run(rows(2), rows(5), 1, shapes_Figure_Circle(model, 1), nil),
        SHAPES_WRONG_VALUE, "dimension 0 of argument `pair_0` is 5, but n is 2 already");
  fails(run(shapes_float32_borrow(model, numbers, 1, wrong), rows(2), 1,
            shapes_Figure_Circle(model, 1), nil),
        SHAPES_WRONG_VALUE, "argument `x` has 1 dimensions, not 2");
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1),
            one(shapes_float32_copy(model, numbers, 3, (int64_t[]){1, 1, 1}))),
        SHAPES_WRONG_VALUE, "field 0 of `Cons` has 3 dimensions, not 2");
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1),
            one(shapes_float32_borrow(model, numbers, 2, minus))),
        SHAPES_WRONG_VALUE, "dimension 1 of a tensor is -3");
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1),
            one(shapes_float32_borrow(model, numbers, 2, (int64_t[]){4, INT64_MAX / 2 + 1}))),
        SHAPES_WRONG_VALUE, "dimension 1 of a tensor is 4611686018427387904");
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1),
            one(shapes_float32_borrow(model, numbers, 65, minus))),
        SHAPES_WRONG_VALUE, "a tensor cannot have 65 dimensions");
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1),
            one(shapes_float32_borrow(model, NULL, 2, wrong))),
        SHAPES_WRONG_VALUE, "a tensor of 32 bytes is made of NULL");
  /* sizes inside of data are looked at where they are used */
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1), one(rows(7))),
        SHAPES_UNEQUAL, "expected 2, found 7");

  results(2, 1); /* and all is as before */
  fails(run(rows(2), NULL, 1, shapes_Figure_Circle(model, 1), nil),
        SHAPES_WRONG_VALUE, "argument `pair_0` is NULL");

  shapes_set_stack(model, 1 << 20);
  fails(run(rows(2), rows(2), 1 << 30, shapes_Figure_Circle(model, 1), nil),
        SHAPES_STACK_OVERFLOW, "deeper than its stack of 1024 kB");
  results(2, 100);
  shapes_set_stack(model, 1 << 26);
  results(2, 100000);

  shapes_set_memory(model, 1 << 17);
  fails(run(rows(20000), rows(20000), 1, shapes_Figure_Circle(model, 1), nil),
        SHAPES_OUT_OF_MEMORY, "not enough memory");
  nil = shapes_List_Nil();
  for (int i = 0; i < 100000; i++) nil = shapes_List_Cons(model, rows(2), nil);
  REQUIRE(nil == NULL);
  fails(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1), nil),
        SHAPES_OUT_OF_MEMORY, "not enough memory");
  shapes_set_memory(model, 0);
  results(20000, 3);

  /* what a run that failed was given is still there */
  shapes_float32 *kept = shapes_float32_copy(model, numbers, 2, (int64_t[]){4, 3});
  for (int i = 0; i < 3; i++) {
    int status = run(shapes_hold(model, kept), rows(4), 1, shapes_Figure_Circle(model, 1),
                     one(rows(3)));
    REQUIRE(status == SHAPES_UNEQUAL);
    REQUIRE(shapes_float32_data(kept)[11] == numbers[11]);
  }
  REQUIRE(run(shapes_hold(model, kept), kept, 1, shapes_Figure_Circle(model, 1),
              shapes_List_Nil()) == 0);
  REQUIRE(shapes_float32_data(sum)[11] == 2 * numbers[11]);
  drop_results();
  REQUIRE(shapes_live(model) == 0);
}

static long memory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int main(void) {
  for (int i = 0; i < 1 << 16; i++) numbers[i] = i % 1000 + 1;
  REQUIRE(shapes_create(&model, NULL, 0) == 0);
  REQUIRE(strcmp(shapes_message(model), "") == 0);
  for (int64_t n = 0; n < 40; n++) results(n, n % 7);
  results(20000, 3);
  errors();
  long before = 0;
  for (int i = 0; i < 100000; i++) {
    if (i == 1000) before = memory();
    results(5, 4);
    if (i % 100 == 0) {
      shapes_List *wrong = one(rows(7));
      REQUIRE(run(rows(2), rows(2), 1, shapes_Figure_Circle(model, 1), wrong) == SHAPES_UNEQUAL);
    }
  }
  printf("%ld kB more\\n", memory() - before);
  REQUIRE(memory() - before < 256);
  shapes_destroy(model);
  return 0;
}
"""


@needs_compiler
def test_values_go_in_and_come_out_and_what_is_wrong_is_said(shapes, tmp_path):
    shapes.export(tmp_path / "shapes.o")
    build(tmp_path, VALUES, "shapes.o")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_header_says_what_goes_in_and_comes_out(shapes, tmp_path):
    text = shapes.export(tmp_path / "shapes.o").read_text()
    assert "pair_0: float32[n, 3]" in text
    assert "/* Box(float32, (int32, bool)) */" in text
    assert "output_1: List[(float32[?, ?], bool)]" in text
    assert max(map(len, text.splitlines())) <= 110


# --- cells, names, threads -----------------------------------------------------------------------

CELL = """#[version = "0.0.5"]
def @main(%int: ref(int32), %by: int32) -> ref(int32) {
  let %_ = ref_write(%int, ref_read(%int) + %by);
  %int
}
"""

CELL_MAIN = """
#include <stdio.h>
#include "cell.h"

int main(void) {
  cell *model;
  if (cell_create(&model, NULL, 0)) return 1;
  cell_ref *counter = cell_ref_new(model, 40), *same;
  if (cell_run(model, counter, 2, &same)) return puts(cell_message(model)), 2;
  printf("%d %d", cell_ref_new_0(counter), counter == same);
  cell_release(model, counter);
  cell_release(model, same);
  if (cell_live(model)) return 3;
  cell_destroy(model);
  return 0;
}
"""


@needs_compiler
def test_cells_are_shared_with_the_program_in_c(tmp_path):
    exe = relay.compile(parse(CELL, "cell.relay"))
    assert isinstance(exe, WholeProgramExecutable)
    exe.export(tmp_path / "cell.o")
    build(tmp_path, CELL_MAIN, "cell.o")
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "42 1")


ENDLESS = """
#include <stdio.h>
#include "endless.h"

static int calls;

static int watch(endless *model) {
  (void)model;
  return ++calls == 3;
}

int main(void) {
  endless *model;
  int32_t result;
  if (endless_create(&model, NULL, 0)) return 1;
  endless_set_watch(model, watch);
  if (endless_run(model, 1, &result) != ENDLESS_INTERRUPTED || calls != 3) return 2;
  puts(endless_message(model));
  endless_set_watch(model, NULL);
  if (endless_run(model, -1, &result) || result != -1) return 3;
  endless_destroy(model);
  return 0;
}
"""


@needs_compiler
def test_a_run_that_does_not_end_is_ended(tmp_path):
    text = """#[version = "0.0.5"]
def @main(%n: int32) -> int32 { if (%n < 0) { %n } else { @main(3 - %n) } }
"""
    relay.compile(parse(text, "endless.relay")).export(tmp_path / "endless.o")
    build(tmp_path, ENDLESS, "endless.o")
    done = run(tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (0, "the call was interrupted\n")


THREADS = """
#include <pthread.h>
#include <stdio.h>
#include "shapes.h"

static float numbers[12000];
static int64_t SIZES[] = {4000, 3};

static void *work(void *wrong) {
  shapes *model;
  if (shapes_create(&model, NULL, 2)) return wrong;
  for (int turn = 0; turn < 200; turn++) {
    shapes_float32 *x = shapes_float32_borrow(model, numbers, 2, SIZES), *sum;
    shapes_Figure *circle = shapes_Figure_Circle(model, 1);
    shapes_List_2 *list;
    shapes_Option *found;
    float size;
    if (shapes_run(model, x, x, turn, circle, shapes_List_Nil(), &sum, &list, &found, &size))
      return wrong;
    for (int i = 0; i < 12000; i++)
      if (shapes_float32_data(sum)[i] != 2 * numbers[i]) return wrong;
    shapes_release(model, x);
    shapes_release(model, circle);
    shapes_release(model, sum);
    shapes_release(model, list);
    shapes_release(model, found);
  }
  shapes_destroy(model);
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  void *wrong = NULL;
  for (int i = 0; i < 12000; i++) numbers[i] = i;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, numbers);
  for (int i = 0; i < 4; i++) {
    void *result;
    pthread_join(threads[i], &result);
    if (result) wrong = result;
  }
  return wrong != NULL;
}
"""


@needs_compiler
def test_every_thread_has_a_model_of_its_own(shapes, tmp_path):
    shapes.export(tmp_path / "libshapes.so", "shared").rename(tmp_path / "shapes.h")
    build(tmp_path, THREADS, "libshapes.so")
    assert run(tmp_path).returncode == 0


@needs_compiler
def test_other_languages_call_it_with_words(tmp_path):
    """The functions that are not inline are enough."""
    text = """#[version = "0.0.5"]
def @main(%n: int32, %total: int64) -> int64 {
  if (%n <= 0) { %total } else { @main(%n - 1, %total + cast(%n, dtype="int64")) }
}
"""
    exe = relay.compile(parse(text, "loop.relay"))
    exe.export(tmp_path / "loop.so", "shared", name="loop")
    library = ctypes.CDLL(str(tmp_path / "loop.so"))
    model = ctypes.c_void_p()
    assert library.loop_create(ctypes.byref(model), None, 0) == 0
    arguments, results = (ctypes.c_int64 * 2)(1000, 5), (ctypes.c_int64 * 1)()
    assert library.loop_invoke(model, arguments, results) == 0
    assert results[0] == 500505
    library.loop_destroy(model)


# --- without a C compiler ------------------------------------------------------------------------


def test_the_same_program_is_the_same_library(tree_model, tmp_path):
    tree_model.export(tmp_path / "a.o", name="tree")
    tree_model.export(tmp_path / "b.o", name="tree")
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "b.o").read_bytes()
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()


def test_objects_are_made_for_other_processors():
    target = Target.aarch64()
    compiled = compile_program(parse(SHAPES, "shapes.relay", Prelude().mod), target=target)
    assert not compiled.weights
    library = ProgramLibrary(compiled.program, target, {}, "shapes", threads=4)
    data = library.object(None)
    assert data.startswith(b"\x7fELF")
    assert int.from_bytes(data[18:20], "little") == 183  # the machine, of ELF


def test_what_cannot_be_exported_says_why(tree_model, tmp_path):
    text = """#[version = "0.0.5"]
def @main(%fs: List[fn (int32) -> int32], %n: int32) -> int32 {
  match (%fs) { Cons(%f, _) => %f(%n), Nil => %n }
}
"""
    exe = relay.compile(parse(text, "function.relay", Prelude().mod))
    with pytest.raises(RelayError, match="cannot be handed to a program in C"):
        exe.export(tmp_path / "function.o")
    tree_model.save(tmp_path / "m.relayx")
    with pytest.raises(RelayError, match="export where it is compiled"):
        load(tmp_path / "m.relayx").export(tmp_path / "tree.o")
