"""Workers without processes: services in this process, which get the messages that processes would get."""

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
    """The message as its receiver decodes it."""
    head, *pieces = encode(values)
    return decode(head, b"".join(bytes(piece) for piece in pieces))


class LocalWorkers:
    """N services. `on_step(worker, verb, n)` is called before the n-th step. It returns "dies" (before the step), "after" (dies after it), another
    answer in place of the real one, or None."""

    def __init__(self, n, service, on_step=None):
        self.service, self.on_step, self.steps, self.started = service, on_step or (lambda *_: None), 0, 0
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
            on_step = self.on_step(worker, verb, self.steps)
            if on_step == "dies":
                self.answers.append((worker, None))
                return
            after = on_step or after
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


def use_local_workers(monkeypatch, on_step=None, kind=None):
    """Make runs with --workers use workers of this kind, by default in this process. Returns a list that gets the workers of each run."""
    made = []

    def connected(workers, cluster, service):
        made.append((kind or partial(LocalWorkers, on_step=on_step))(workers, service))
        return made[-1]

    monkeypatch.setattr(place, "connected", connected)
    return made


def with_workers(monkeypatch, train, template, algorithm, n=2, on_step=None, kind=None, **options):
    """(bytes of the model that n such workers train, the workers)."""
    made = use_local_workers(monkeypatch, on_step, kind)
    model = crfkit.learn(train, template, algorithm, workers=n, **options)
    return bytes_of(model), made[0]


def on_one_machine(train, template, algorithm, **options):
    """The bytes of the model that one process trains."""
    if algorithm == "lbfgs":
        options["warm_up"] = 0
    return bytes_of(crfkit.learn(train, template, algorithm, **options))


def compared(monkeypatch, train, template, algorithm, n, shards, kind=None, **options):
    """The workers of a run that learns what one machine learns, and tells the same of each pass: its numbers have more digits than weights."""
    told, names = ([], []), {"objective", "gradient", "gap", "train_accuracy", "train_sentence_accuracy"}
    one = on_one_machine(train, template, algorithm, progress=told[0].append, **options)
    many, workers = with_workers(monkeypatch, train, template, algorithm, n, kind=kind, shards=shards, progress=told[1].append, **options)
    assert many == one
    ours, theirs = ([{name: record[name] for name in names & record.keys()} for record in records] for records in told)
    assert ours == theirs and len(ours) > 1 and all(ours)
    return workers
