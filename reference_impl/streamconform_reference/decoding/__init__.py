"""The code that all decoders share: payloads in, events and the outcome out."""
