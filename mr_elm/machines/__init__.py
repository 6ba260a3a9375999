"""Hold what is trained, for drivers and estimators alike."""
