"""Workers without processes: services that are asked in this one, by the messages that processes would get."""

import random
from collections import deque
from functools import partial
from pathlib import Path

import crfkit
from crfkit.cluster import serving
from crfkit.cluster.messages import decode, encode
from crfkit.learning.shards import place

WORDS = ["the", "a/b", "cat", "c", "b/c", "runs", "Xx9", "sees", "42", "of"]
TAGS = ["D", "N", "V", "a", "b/c"]
LABELS = ["B-x", "I-x", "O", "B-y"]
TEMPLATE = """U00:%x[-1,0]
U01:%x[0,0]
U02:%x[-1,0]/%x[0,0]
U03:%x[0,0]/%x[0,1]/%x[1,1]
U04:%X[0,0]%p[0,0,1]
U0:%x[0,1]%x[1,0]
U05:%=[0,0,0,1]
U06:%S[0,0]
U07:%s[0,0,2]/%x[0,1]
U
B
B01:%x[0,1]
B02:%x[-1,0]/%x[0,0]
"""


def sent(values):
    """What arrives of a message."""
    head, *pieces = encode(values)
    return decode(head, b"".join(bytes(piece) for piece in pieces))


class Here:
    """N services. `fate(worker, verb, n)` is asked before the n-th step: "dies" before it, "after" it, or what it answers."""

    def __init__(self, n, service, fate=None):
        self.service, self.fate, self.steps, self.started = service, fate or (lambda *_: None), 0, 0
        self.all, self.answers, self.verbs = {}, deque(), []
        for _ in range(n):
            self.replace()

    def workers(self):
        return list(self.all)

    def replace(self):
        self.started += 1
        self.all[f"worker {self.started}"] = serving.service(self.service)
        return True

    def send(self, worker, request):
        request = sent(request)
        after = None
        for verb, _ in request["steps"]:
            self.steps += 1
            self.verbs.append(verb)
            fate = self.fate(worker, verb, self.steps)
            if fate == "dies":
                self.answers.append((worker, None))
                return
            after = fate or after
        answer = sent(serving.answer(self.all[worker], request))
        self.answers.append((worker, None if after == "after" else after if after is not None else answer))

    def wait(self, seconds):
        if not self.answers:
            return None
        worker, answer = self.answers.popleft()
        return (worker, answer) if worker in self.all else None

    def drop(self, worker):
        self.all.pop(worker, None)

    def close(self):
        self.all.clear()


def corpus(path, n=1000, seed=0):
    """Sentences of all lengths, in a file."""
    rng, lines = random.Random(seed), []
    for _ in range(n):
        for _ in range(rng.choice([1, 2, 3, 5, 8, 40])):
            lines.append(f"{rng.choice(WORDS)} {rng.choice(TAGS)} {rng.choice(LABELS)}")
        lines.append(rng.choice(["", " ", "\t"]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def items(path, n=300, weights=True):
    """Attributes with values, sequences with weights."""
    rng, lines = random.Random(1), []
    for _ in range(n):
        if weights and rng.random() < 0.3:
            lines.append(f"@weight:{rng.random() * 3:.3f}")
        for _ in range(rng.choice([1, 3, 9])):
            found = [f"{rng.choice(WORDS)}:{rng.random() * 10 ** rng.randint(-4, 3):.6g}" for _ in range(rng.randint(0, 4))]
            lines.append("\t".join([rng.choice(LABELS), "all", *found]))
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def bytes_of(model):
    model.save("model")
    return Path("model").read_bytes()


def here(monkeypatch, fate=None, kind=None):
    """Workers that runs with --workers get, in this process unless they are of another kind: a list of them, for each run."""
    made = []

    def transport(self):
        made.append((kind or partial(Here, fate=fate))(self.run.workers, place.SERVICE))
        return made[-1]

    monkeypatch.setattr(place.Distributed, "_transport", transport)
    return made


def far(monkeypatch, train, template, algorithm, n=2, fate=None, kind=None, **options):
    """A model of n such workers, and the workers."""
    made = here(monkeypatch, fate, kind)
    model = crfkit.learn(train, template, algorithm, workers=n, **options)
    return bytes_of(model), made[0]


def alone(train, template, algorithm, **options):
    """The same on one machine."""
    if algorithm == "lbfgs":
        options["warm_up"] = 0
    return bytes_of(crfkit.learn(train, template, algorithm, **options))
