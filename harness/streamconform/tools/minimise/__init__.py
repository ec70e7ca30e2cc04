"""The smallest stream that still fails: frames, fields and strings taken away while the failure stays."""
