"""Passes that hand parts of a program to other compilers."""
