"""Trained models: their files, headers, arrays and predictions."""
