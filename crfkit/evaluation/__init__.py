"""Counting chunks, tokens and words; what labels mean; scores and reports."""
