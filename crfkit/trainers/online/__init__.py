"""Trainers that change the weights after every sequence or batch, and what they share."""
