"""What `conform init` puts into a project: text with places in `@…@` that are filled in."""
