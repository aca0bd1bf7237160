"""Lower lists: fixed-size, append-only and dynamic."""
