"""Draw what commands have found."""
