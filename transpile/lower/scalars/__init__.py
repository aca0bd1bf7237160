"""Lower scalar expressions: operators, conversions, tagged unions and calls."""
