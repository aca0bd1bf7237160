"""Tables: dicts and sets, as hash tables in arrays or, with constant keys, as scalars."""
