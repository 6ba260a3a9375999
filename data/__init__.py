"""Data recipes: seeded generators, a registry of public sets, and their download."""
