"""`python -m streamconform` runs `conform`."""

from streamconform.cli import main

main()
