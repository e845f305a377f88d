"""`python -m mandala_env` is the command `mandala`."""

from mandala_env.cli import main

main()
