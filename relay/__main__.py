"""`python -m relay` is the command `relay`."""

from relay.cli.app import main

main()
