"""Templates for the files that `conform init` adds to a project, with placeholders of the form `@…@`."""
