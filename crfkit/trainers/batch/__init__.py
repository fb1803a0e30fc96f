"""Trainers that see all data before they change a weight, and what they share."""
