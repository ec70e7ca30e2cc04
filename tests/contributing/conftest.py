"""The examples are not tests of this checkout; they are copied to their places in another one."""

collect_ignore = ["examples"]
