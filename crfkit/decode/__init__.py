"""From scores to labels: n best paths, beam, history search, constraints, and what is printed of them."""
