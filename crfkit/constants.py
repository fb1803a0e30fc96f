"""Facts about options and trainers that others know, too: who only labels need not wait for every option to be declared."""

MOST_THREADS = 1024  # each has scratch of its own
CHUNK_TOKENS = 2048  # that a thread of a batch trainer takes at once
BLOCK_SEQUENCES = 16  # that a thread of an online trainer takes at once
FORMATS = ("columns", "conllu", "crfsuite")
COMMENTS_OF_CONLLU = "--comments is of no use with CoNLL-U, where lines that begin with # are comments anyway"
LARGEST_VALUE = 1e6  # of a feature, up to which every trainer is tested
LARGEST_FOR_RATES = 100.0  # beyond which trainers with one rate for all attributes, or with steps as large as values, often learn next to nothing
SMALLEST_VALUE = 0.1  # of the largest ones of attributes: below, penalties and label pairs, whose value is 1, outweigh them
WEIGHTS = ("float32", "float16", "int8")

# Trainers whose scores are not log-linear likelihoods: probabilities would mean nothing.
WITHOUT_PROBABILITIES = frozenset({"perceptron", "mira", "arow", "cw", "lookahead"})

# Trainers whose models find one label after the other, and may look at those they have given.
WITH_HISTORY = frozenset({"lookahead"})
