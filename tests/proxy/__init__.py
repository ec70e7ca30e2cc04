"""The translating proxy on real sockets: upstreams that do as they are told, clients of every kind."""
