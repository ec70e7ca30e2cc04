"""The parts shared by all encoders: outcomes in, the bytes of an API's stream out."""
