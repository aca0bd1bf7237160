"""Analyses: facts about the code, for passes and fusion. They do not change it."""
