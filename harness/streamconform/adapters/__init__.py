"""How an implementation is reached: programs over protocol v1, and Python callables hosted by one."""
