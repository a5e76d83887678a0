"""Machine code as a program: each instruction lowered to a row of the table of semantics, or to an action of the executor."""
