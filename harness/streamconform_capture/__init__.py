"""Where recorded streams come from, and what they show: record, import, probe, compare, fuzz, minimise."""
