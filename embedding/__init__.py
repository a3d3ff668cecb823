"""Media in, unit vectors out."""
