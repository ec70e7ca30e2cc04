"""The examples are no tests of this checkout: they are copied to their places in another one."""

collect_ignore = ["examples"]
