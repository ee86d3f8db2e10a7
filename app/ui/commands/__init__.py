"""Commands: the table of all of them, and those that act on a window, group by group."""
