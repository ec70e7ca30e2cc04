"""What all decoders share: payloads in, events and outcome out."""
