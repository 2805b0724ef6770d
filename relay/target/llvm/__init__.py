"""The CPU target: loops as LLVM IR, LLVM IR as machine code, machine code in this process."""
