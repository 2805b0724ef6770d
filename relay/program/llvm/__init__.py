"""Programs as native code: see `relay.program.llvm.translate`."""
