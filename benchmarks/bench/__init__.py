"""Measure every claim of speed: a file a topic, whose PARTS return rows, and one runner that collects them."""
