"""The names of other compilers, for programs that were written for them."""
