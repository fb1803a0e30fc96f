"""Data in which not all labels are given."""

from types import SimpleNamespace

from crfkit.data.dataset import Dataset


def left_open(rng, corpus):
    """For each token of each sample the labels that it may have: its own, some, or any (None)."""
    every = range(corpus.n_labels)

    def choice(j):
        kind = rng.randrange(3)
        return (j,) if kind == 0 else None if kind == 1 else tuple(sorted(rng.sample(every, rng.randint(1, corpus.n_labels))))

    return [[choice(j) for j in sample.labels] for sample in corpus.samples]


def with_choices(data, choices, n_labels):
    """The data set with these choices in place of labels."""
    of_tokens = [choice for of_sample in choices for choice in of_sample]
    different = list(dict.fromkeys(of_tokens))
    arrays = {**data.arrays(), "label": [different.index(choice) for choice in of_tokens]}
    found = Dataset(**arrays, n_u=data.n_u, n_b=data.n_b, labels=[str(choice) for choice in different])
    found.divide(different, [f"L{j}" for j in range(n_labels)])
    return found


def opened(built, choices):
    """The same layout, and data with these choices."""
    return SimpleNamespace(dataset=with_choices(built.dataset, choices, built.corpus.n_labels), layout=built.layout)
