"""The state of one lowering: the IR builder, path conditions, value ranges, symbol values."""
