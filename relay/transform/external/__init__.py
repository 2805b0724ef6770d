"""Passes that offload parts of a program to external compilers."""
