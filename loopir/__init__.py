"""Loop IR: what a loop means. Nodes, operations, text, interpreter and passes; nothing of ours is imported."""
