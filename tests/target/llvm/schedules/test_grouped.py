"""Sums of scaled sums of products: a weight of few bits, of which groups have scales."""

from tests.target.llvm.schedules.outline import text, unindented

SOURCE = """(%x: Tensor[({rows}, 256), float32], %w: Tensor[(32, 128), uint32],
    %s: Tensor[(8, 128), float32]) {{ nn.dense_nbits(%x, %w, %s, 8f, bits=4) }}"""


def test_elements_are_computed_in_registers_from_words() -> None:
    (main,) = text(SOURCE.format(rows=1))
    assert main.endswith(
        unindented("""
        register dense_nbits.acc[1, 128]
        vector 16: dense_nbits.acc  x8
        for 8
          register parts[1, 1, 128]
          vector 16: parts  x8
          for 4
            vector 16: parts  x64
          vector 16: dense_nbits.acc  x8
        vector 16: dense_nbits  x8
        """)
    )


def test_constants_are_packed_in_panels_before() -> None:
    *before, main = text(SOURCE.format(rows=1).replace("128)", "256)"), 1, 2)
    assert len(before) == 2 and "for 2" in main


def test_rows_share_what_is_computed() -> None:
    (main,) = text(SOURCE.format(rows=3))
    assert "register parts[3, 1, 64]" in main


def test_the_largest_of_sums_has_no_columns() -> None:
    (main,) = text("""(%x: Tensor[(5, 8), float32], %y: Tensor[(5, 8), float32]) {
        max(abs(sum(%x * %y, axis=[1]))) }""")
    assert "register" in main
