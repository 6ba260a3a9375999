"""One page of everything that was measured: no server, nothing from elsewhere."""
