"""Add up exactly: rows of a layer to Grams, features to statistics."""
