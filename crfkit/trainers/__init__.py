"""The trainers, each in a file of its own."""
