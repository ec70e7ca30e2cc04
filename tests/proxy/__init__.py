"""The translating proxy on real sockets, between scripted upstreams and clients of every kind."""
