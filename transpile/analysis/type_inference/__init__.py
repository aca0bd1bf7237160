"""Type inference: facts about expressions and local names, flow-sensitive, by probing NumPy."""
