"""The numeric loops in C, compiled once for each instruction set, and their structures."""
