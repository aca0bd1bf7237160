"""Lower loops: trip counts, loop-carried values, exits and values after the loop."""
