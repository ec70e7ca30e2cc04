"""`python -m streamconform` is `conform`."""

from streamconform.cli import main

main()
