"""A slow twin of the parser: naive search and updates as in figures 2 and 3 of the paper, features as strings."""

import math
from collections import defaultdict

from crfkit.template.meaning import expand

GAP = "\0"  # a cell that is left out


class State:
    """Stack, queue and arcs as lists; every action makes a new state."""

    def __init__(self, n, stack=(), start=0, arcs=()):
        self.n, self.stack, self.start, self.arcs = n, tuple(stack), start, tuple(arcs)

    @property
    def ended(self):
        return self.start == self.n and len(self.stack) <= 1

    def actions(self, relations):
        """All possible actions, in the order of their numbers."""
        if self.start < self.n:
            yield ("shift", None)
        if len(self.stack) > 1:
            yield from (("left", relation) for relation in relations)
            yield from (("right", relation) for relation in relations)

    def after(self, action):
        side, relation = action
        if side == "shift":
            return State(self.n, (*self.stack, self.start), self.start + 1, self.arcs)
        *rest, s1, s0 = self.stack
        head, child = (s0, s1) if side == "left" else (s1, s0)
        return State(self.n, (*rest, head), self.start, (*self.arcs, (head, child, relation)))

    def place(self, name):
        """The word at a place that P lines can name, or None."""
        kind, number, steps = name[0], int(name[1]), name.split(".")[1:]
        if kind == "q":
            return self.start + number if self.start + number < self.n else None
        word = self.stack[-1 - number] if number < len(self.stack) else None
        for side, *rank in steps:
            children = [child for head, child, _ in self.arcs if head == word and (child < word) == (side == "l")]
            children.sort(reverse=side == "r")
            k = int("".join(rank) or 1)
            word = children[k - 1] if word is not None and k <= len(children) else None
        return word

    def heads(self):
        """(head, relation) of each word, numbers from 1."""
        found = [(0, None)] * self.n
        for head, child, relation in self.arcs:
            found[child] = (head + 1, relation)
        return found


def correct_action(state, tree):
    """The next action on the way to the tree, [(head, relation)]; None if there is none."""
    attached = [child for _, child, _ in state.arcs]
    if len(state.stack) > 1:
        s1, s0 = state.stack[-2:]
        if tree[s1][0] == s0 + 1:
            return ("left", tree[s1][1])
        if tree[s0][0] == s1 + 1 and all(child in attached for child in range(state.n) if tree[child][0] == s0 + 1):
            return ("right", tree[s0][1])
    return ("shift", None) if state.start < state.n else None


def can_wait(state, tree):
    """Whether the tree can still be built if its next left arc is not made yet: if the head gets more children later."""
    return any(head == state.stack[-1] + 1 for head, _ in tree[state.start :])


class Twin:
    """The weights, the search and the updates."""

    def __init__(self, template, relations, depth, margin, oracle="either"):
        self.template, self.relations, self.depth, self.margin = template, relations or [None], depth, margin
        self.oracle = oracle
        self.left_out = ()  # numbers of lines
        self.known = {}  # the feature strings of states of the sentence: searches from one state after another meet the same ones
        self.w, self.late = defaultdict(float), defaultdict(float)
        self.decisions = 0
        self.loss = 0.0

    def features(self, rows, state):
        """The feature strings of a state."""
        key = state.stack, state.start, state.arcs
        if key not in self.known:
            strings = (expand(line, rows, 0, places=state.place) for i, line in enumerate(self.template.lines) if i not in self.left_out)
            self.known[key] = [text for text in strings if text is not None and GAP not in text]
        return self.known[key]

    def score(self, rows, state, action):
        return sum(self.w.get((text, action), 0.0) for text in self.features(rows, state))

    def search(self, rows, state, d):
        """Figure 2, its scores summed on the way: (value, actions) of the best d actions from here; the first of the best."""
        best = (-math.inf, ())
        for action in state.actions(self.relations) if d else ():
            value, ahead = self.search(rows, state.after(action), d - 1)
            value += self.score(rows, state, action)
            if value > best[0]:
                best = (value, (action, *ahead))
        return best if best[1] else (0.0, ())

    def choose(self, rows, state, correct=None, tree=()):
        """Figure 3, lines 8 to 16: the action with the best actions ahead, and those of the correct one. With a tree, shift may be
        the correct one, too, if a left arc can wait.
        """
        found = {}
        for action in state.actions(self.relations):
            value, ahead = self.search(rows, state.after(action), self.depth)
            found[action] = (value + self.score(rows, state, action), (action, *ahead))
        if correct is not None and correct[0] == "left" and can_wait(state, tree):
            shift = ("shift", None)
            if found[shift][0] > found[correct][0]:
                del found[correct]
                correct = shift
            else:
                found[shift] = (found[shift][0] - (self.margin - self.margin / 3), found[shift][1])
        if correct is not None:
            found[correct] = (found[correct][0] - self.margin, found[correct][1])
        return max(found.values(), key=lambda one: one[0]), found.get(correct)

    def learn(self, rows, tree):
        state, self.known = State(len(rows)), {}
        while not state.ended:
            correct = correct_action(state, tree)
            best, right = self.choose(rows, state, correct, tree if self.oracle == "either" else ())
            correct = right[1][0]
            if best[1][0] != correct:
                for gain, actions in ((1, right[1]), (-1, best[1])):
                    after = state
                    for action in actions:
                        for text in self.features(rows, after):
                            self.w[text, action] += gain
                            self.late[text, action] += gain * self.decisions
                        after = after.after(action)
                self.loss += best[0] - right[0]
            self.decisions += 1
            state = state.after(correct)

    def parse(self, rows):
        state, self.known = State(len(rows)), {}
        while not state.ended:
            state = state.after(self.choose(rows, state)[0][1][0])
        return state.heads()

    def weights(self, average):
        """The weights that are not zero."""
        found = {key: w - self.late[key] / self.decisions if average else w for key, w in self.w.items()}
        return {key: w for key, w in found.items() if w}
