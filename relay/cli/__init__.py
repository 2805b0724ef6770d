"""The command `relay`: compile, run, measure and inspect models from a shell.

app.py       the command line, and how errors end it
options.py   options that several commands share
models.py    model files as modules and as executables
inputs.py    inputs of a call: files, or random numbers
output.py    reports as tables or as JSON, texts into files
passes.py    the spelling of passes: `fold-constant,dead-code-elimination(inline_once=True)`

Each other file is one command. Only the standard library and typer are imported before a command
runs, so that `relay --help` answers at once.
"""
