"""The text of a few kernels, and which stages share a launch."""

import json
from textwrap import dedent

import relay
from tests.support.gpu_texts import sources, texts


def function(body, *inputs):
    params = [relay.var(f"x{i}", shape=s, dtype=dtype) for i, (s, dtype) in enumerate(inputs)]
    return relay.IRModule.from_expr(relay.Function(params, body(*params)))


def body(source):
    """The last function of a text, without its name."""
    lines = source.rstrip().splitlines()
    start = max(i for i, line in enumerate(lines) if line.startswith("def "))
    return "\n".join(["def kernel(" + lines[start].partition("(")[2], *lines[start + 1 :]]) + "\n"


def test_elementwise_kernels_are_vectors_over_all_elements():
    mod = function(lambda x, y: relay.nn.relu(x + y), ((30, 64), "float32"), ((64,), "float32"))
    (source,) = sources(mod)
    assert body(source) == dedent(
        """\
        def kernel(p0, p1, p2):
            row = tl.program_id(0) * 128 + tl.arange(0, 128)
            t0 = tl.load(p0 + row)
            t1 = tl.load(p1 + (row % 64))
            t2 = tl.maximum((t0 + t1), 0.0, propagate_nan=tl.PropagateNan.ALL)
            tl.store(p2 + row, tl.cast(t2, tl.float32))
        """
    )


def test_a_bias_is_part_of_the_product():
    mod = function(
        lambda x, w, b: relay.nn.bias_add(relay.nn.dense(x, w), b),
        ((40, 128), "float16"),
        ((64, 128), "float16"),
        ((64,), "float16"),
    )
    (source,) = sources(mod)
    assert body(source) == dedent(
        """\
        def kernel(p0, p1, p2, p3):
            row = (tl.program_id(0) // 2 * 64 + tl.arange(0, 64))[:, None]
            row_in = row < 40
            column = (tl.program_id(0) % 2 * 32 + tl.arange(0, 32))[None, :]
            total = tl.zeros([64, 32], dtype=tl.float32)
            for chunk in tl.range(0, 2, num_stages=3):
                t0 = (((row * 128) + (chunk * 64)) + tl.arange(0, 64)[None, :])
                t1 = tl.load(p0 + t0, mask=row_in, other=0)
                t2 = (((column * 128) + (chunk * 64)) + tl.arange(0, 64)[:, None])
                t3 = tl.load(p1 + t2)
                total = tl.dot(t1, t3, total)
            t4 = tl.load(p2 + column).to(tl.float32)
            t5 = (total.to(tl.float16).to(tl.float32) + t4)
            tl.store(p3 + ((row * 64) + column), tl.cast(t5, tl.float16), mask=row_in)
        """
    )


def test_whether_a_pixel_is_inside_is_a_bit_of_a_mask():
    mod = function(
        lambda x, w: relay.nn.conv2d(x, w, padding=(1, 1)),
        ((1, 64, 14, 14), "float16"),
        ((64, 64, 3, 3), "float16"),
    )
    (source,) = (one for one in sources(mod) if "tl.dot" in one)
    loop = source[source.index("for chunk") : source.index("total = tl.dot")]
    assert "mask" in loop and "<" not in loop and ">=" not in loop


def test_a_row_kernel_reads_its_input_once():
    mod = function(lambda x: relay.nn.softmax(x), ((30, 100), "float32"))
    (text,) = texts(mod)
    assert len(json.loads(text)["launches"]) == 1
    assert json.loads(text)["source"].count("tl.load") == 1


def test_what_reads_other_rows_is_launched_after_them():
    mod = function(lambda x: relay.reverse(relay.nn.softmax(x), axis=0), ((30, 100), "float32"))
    launches = [json.loads(text)["launches"] for text in texts(mod)]
    assert sum(map(len, launches)) == 2


def test_launches_of_one_architecture_wait_for_each_other_by_themselves():
    mod = function(lambda x: relay.nn.relu(x), ((30,), "float32"))
    assert "gdc_wait" not in sources(mod, "sm_80")[0]
    assert "gdc_wait()" in sources(mod, "sm_90")[0]


def test_the_precision_of_products_is_the_users():
    mod = function(relay.nn.dense, ((40, 128), "float32"), ((64, 128), "float32"))
    assert 'input_precision="ieee"' in sources(mod)[0]
    assert 'input_precision="tf32"' in sources(mod, precision="tf32")[0]


def test_large_tensors_have_wide_indices():
    mod = function(lambda x: relay.nn.relu(x), ((1 << 31,), "int8"))
    assert "tl.program_id(0).to(tl.int64)" in sources(mod)[0]


def test_what_triton_would_take_minutes_for_is_computed_by_the_host():
    mod = function(
        lambda x: relay.image.resize3d(x, (4, 4, 4), method="cubic"), ((1, 1, 3, 3, 3), "int16")
    )
    assert texts(mod) == []


def test_parts_of_a_tensor_are_results_of_one_launch():
    x = relay.var("x", shape=(5, 12))
    mod = relay.IRModule.from_expr(relay.Function([x], relay.split(x, 3, axis=1).astuple()))
    (text,) = texts(mod)
    assert len(json.loads(text)["launches"]) == 1
