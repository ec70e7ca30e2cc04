"""The code that all encoders share: outcomes in, the bytes of an API's stream out."""
