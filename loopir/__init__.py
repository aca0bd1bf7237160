"""Loop IR: what a loop means. Nodes, operations, text, interpreter, passes; none of ours above."""
