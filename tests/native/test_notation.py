"""The notation of the runtime's code, against the LLVM IR it stands for."""

from relay.native.notation import assemble


def test_a_memory_operand_is_an_address_computed_before_the_instruction():
    code = "  %x = load i64, ptr %context[$limit]\n  store i64 %x, ptr @table[i32 %n]\n"
    assert assemble(code, {"limit": 8}) == (
        "  %.0 = getelementptr i8, ptr %context, i64 8\n"
        "  %x = load i64, ptr %.0\n"
        "  %.1 = getelementptr i32, ptr @table, i64 %n\n"
        "  store i64 %x, ptr %.1\n"
    )


def test_the_address_for_a_continued_instruction_comes_before_its_first_line():
    code = "  call void @f(ptr %a,\n      ptr %b[ptr 2])\n"
    assert assemble(code, {}) == (
        "  %.0 = getelementptr ptr, ptr %b, i64 2\n  call void @f(ptr %a,\n      ptr %.0)\n"
    )


def test_a_comparing_branch_is_a_comparison_and_a_branch():
    assert assemble("  br eq ptr %p, null, label %a, label %b\n", {}) == (
        "  %.0 = icmp eq ptr %p, null\n  br i1 %.0, label %a, label %b\n"
    )


def test_other_code_stays_as_it_is():
    code = (
        "define i32 @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  br label %b\nb:\n"
        "  %x = phi i32 [ 1, %entry ], [ 2, %a ]\n  ret i32 %x\n}\n"
    )
    assert assemble(code, {}) == code
