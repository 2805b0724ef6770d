"""Programs as native code: see `relay.target.llvm.program.translate`."""
