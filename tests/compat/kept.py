"""What crfkit's Trainer for programs of python-crfsuite keeps."""

from itertools import pairwise


def appended(sequences):
    """What crfkit has kept of each sequence: its labels, and of each token the names and values."""
    return decoded(sequences.data, list(sequences.labels), list(sequences.names))


def decoded(data, labels, names):
    """The sequences of a data set, with these for the numbers of labels and attributes."""
    arrays = data.arrays()
    values = arrays.get("u_val", [1.0] * len(arrays["u_id"]))
    tokens = [[(names[arrays["u_id"][u]], values[u]) for u in range(begin, end)] for begin, end in pairwise(arrays["u_ptr"])]
    return [([labels[label] for label in arrays["label"][begin:end]], tokens[begin:end]) for begin, end in pairwise(arrays["seq_ptr"])]
