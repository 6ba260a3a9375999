"""Turn rows into features: scaling, random nodes, landmarks."""
