"""Fetch public data sets: where each is published, how it is read, and its digest."""
