"""Extreme learning machines and their kernel relatives, trained exactly, at any size."""
