"""Plans kept on disk: what a function is, told by its code and all it leads to, and the program that was captured of it."""
