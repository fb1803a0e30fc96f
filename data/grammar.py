"""A toy English grammar: sentences with parts of speech, chunks and named entities, exact by construction."""

from typing import NamedTuple

from dice import Dice
from lexicon import (
    BE,
    DETERMINERS,
    HAVE,
    LINK_WORDS,
    MODALS,
    NUMBERS,
    PARTICLES,
    PLACE_WORDS,
    POSSESSIVES,
    PRONOUNS,
    Lexicon,
    Verb,
    inflect,
)
from names import Names, Unit

Phrase = list["Token"]


class Token(NamedTuple):
    word: str
    tag: str
    chunk: str
    entity: str


def chunk(kind: str, units: list[Unit]) -> Phrase:
    """The words of one chunk, labelled B-kind, I-kind, ..."""
    return [Token(word, tag, ("I-" if i else "B-") + kind, name) for i, (word, tag, name) in enumerate(units)]


def outside(word: str, tag: str) -> Phrase:
    return [Token(word, tag, "O", "O")]


def unit(word: str, tag: str) -> Unit:
    return (word, tag, "O")


class Grammar:
    """Draws sentences; `naming` is the probability that a noun phrase is a name."""

    def __init__(self, lexicon: Lexicon, dice: Dice, naming: float) -> None:
        self.lexicon, self.dice, self.naming = lexicon, dice, naming
        self.names = Names(dice)

    def sentence(self) -> Phrase:
        """One sentence, its first letter a capital, ending with a full stop."""
        opening = self.dice.weighted({"none": 6, "adverb": 1, "place": 1, "subordinate": 1})
        tokens: Phrase = []
        if opening == "adverb":
            tokens += chunk("ADVP", [unit(self.dice.skewed(self.lexicon.adverbs), "RB")])
        elif opening == "place":
            tokens += self.prepositional(self.dice.pick(PLACE_WORDS), "place")
        elif opening == "subordinate":
            tokens += self.subordinate(self.dice.pick(["because", "if", "while", "after", "as"]))
        if tokens and self.dice.chance(0.6):
            tokens += outside(",", ",")
        tokens += self.clause(depth=0)
        if opening == "none" and self.dice.chance(0.2):
            tokens += outside(self.dice.pick(["and", "but", "or"]), "CC") + self.clause(depth=1)
        tokens += outside(".", ".")
        first = tokens[0]
        return [first._replace(word=first.word[0].upper() + first.word[1:]), *tokens[1:]]

    def clause(self, depth: int) -> Phrase:
        plural = self.dice.chance(0.4)
        tokens = self.noun_phrase(plural, "agent")
        if self.dice.chance(0.08):  # apposition: Kelton , the judge of the market ,
            tokens += outside(",", ",") + self.noun_phrase(plural, "theme", named=False)
            tokens += self.prepositional("of", "theme") + outside(",", ",")
        elif self.dice.chance(0.12):
            tokens += self.prepositional(self.dice.pick(LINK_WORDS), "theme")
        if self.dice.chance(0.22):
            tokens += self.copula(plural)
        else:
            tokens += self.predicate(plural, depth)
        if self.dice.chance(0.25):
            tokens += self.prepositional(self.dice.pick(PLACE_WORDS), "place")
        if self.dice.chance(0.1):
            tokens += self.time()
        return tokens

    def subordinate(self, word: str) -> Phrase:
        return chunk("SBAR", [unit(word, "IN")]) + self.clause(depth=1)

    def prepositional(self, word: str, role: str) -> Phrase:
        units = [unit(word, "TO" if word == "to" else "IN")]
        if word in PLACE_WORDS and self.dice.chance(0.06):
            units = [unit("because", "IN"), unit("of", "IN")]
        return chunk("PP", units) + self.noun_phrase(self.dice.chance(0.3), role)

    def time(self) -> Phrase:
        """A noun phrase that says when: it often stands right after another one."""
        if self.dice.chance(0.5):
            word = self.dice.pick(["last", "this", "next", "every"])
            tag = "DT" if word in ("this", "every") else "JJ"
            return chunk(
                "NP", [unit(word, tag), unit(self.dice.pick(["week", "year", "night", "market"]), "NN")]
            )
        return chunk("NP", [unit(self.dice.pick(["today", "yesterday", "tomorrow"]), "NN")])

    # --- noun phrases

    def noun_phrase(self, plural: bool, role: str, named: bool | None = None) -> Phrase:
        """One or several NP chunks; `named` says whether it has to be a name (None: as it happens)."""
        if self.dice.chance(self.naming) if named is None else named:
            tokens = chunk("NP", self.names.name(role))
        elif named is None and self.dice.chance(0.15):
            return chunk("NP", [self.pronoun(plural)])
        else:
            tokens = chunk("NP", self.common(plural))
        if self.dice.chance(0.08):  # the dog 's house: the mark opens a chunk of its own
            tokens += chunk("NP", [unit("'s", "POS"), *self.modifiers(), self.noun(plural)])
        if self.dice.chance(0.04):  # dogs , men and houses
            tokens += outside(",", ",") + self.noun_phrase(plural, role, named)
        elif self.dice.chance(0.08):
            tokens += outside(self.dice.pick(["and", "or"]), "CC") + self.noun_phrase(plural, role, named)
        return tokens

    def pronoun(self, plural: bool) -> Unit:
        if self.dice.chance(0.4):
            return unit(self.dice.pick(["these", "those"] if plural else ["this", "that"]), "DT")
        return unit(self.dice.pick(PRONOUNS[plural]), "PRP")

    def common(self, plural: bool) -> list[Unit]:
        """Determiner, modifiers and noun: of a bare plural `dogs` only the last."""
        dice = self.dice
        start = dice.weighted({"determiner": 6, "possessive": 1.2, "number": 1, "bare": 3 if plural else 0.6})
        units = []
        if start == "determiner":
            units.append(unit(dice.pick(DETERMINERS[plural]), "DT"))
        elif start == "possessive":
            units.append(unit(dice.pick(POSSESSIVES), "PRP$"))
        elif start == "number":
            units.append(unit(dice.pick(NUMBERS), "CD"))
            plural = True
        return [*units, *self.modifiers(), self.noun(plural)]

    def modifiers(self) -> list[Unit]:
        dice, words = self.dice, self.lexicon
        form = dice.weighted(
            {"none": 6, "one": 3, "two": 1, "pair": 0.8, "list": 1, "verbal": 1.2, "noun": 2, "origin": 0.5}
        )
        if form == "none":
            return []
        if form == "verbal":  # a running dog, the sold house
            tag = dice.pick(["VBG", "VBN"])
            return [unit(dice.skewed(words.transitive).forms[tag], tag)]
        if form == "noun":
            return [self.noun(False)]
        if form == "origin":
            return [self.names.origin()]
        if form == "one":
            return self.described()
        if form == "two":
            return [*self.described(), self.adjective()]
        return self.series() if form == "list" else self.paired(self.described())

    def series(self) -> list[Unit]:
        """big , very red , old: inside, nothing near says whether a noun phrase or an `is` began it."""
        units = self.described()
        for _ in range(self.dice.between(1, 3)):
            units += [unit(",", ","), *self.described()]
        return units

    def paired(self, units: list[Unit]) -> list[Unit]:
        """`units` and a last adjective, joined by a conjunction."""
        return [*units, unit(self.dice.pick(["and", "or", "but"]), "CC"), *self.described()]

    def described(self) -> list[Unit]:
        """An adjective, or an adverb and an adjective."""
        if self.dice.chance(0.2):
            return [
                unit(self.dice.pick(["very", "quite", *self.lexicon.adverbs[:20]]), "RB"),
                self.adjective(),
            ]
        return [self.adjective()]

    def noun(self, plural: bool) -> Unit:
        word = self.dice.skewed(self.lexicon.nouns)
        if not plural:
            return unit(word, "NN")
        return unit({"man": "men"}.get(word) or inflect(word, "s"), "NNS")

    def adjective(self) -> Unit:
        if self.dice.chance(0.06):  # well-known, half-sold
            first = self.dice.pick(["well", "half", "far", "un"])
            return unit(first + "-" + self.dice.skewed(self.lexicon.transitive).forms["VBN"], "JJ")
        return unit(self.dice.skewed(self.lexicon.adjectives), "JJ")

    # --- verbs and what follows them

    def copula(self, plural: bool) -> Phrase:
        """is very old / was the judge / are cold , flat and red."""
        finite = self.dice.pick(["VBD", "VBP" if plural else "VBZ"])
        be = {"VBD": "were" if plural else "was"}.get(finite, BE[finite])
        tokens = chunk("VP", [unit(be, finite), *self.negation()])
        if self.dice.chance(0.35):
            return tokens + self.noun_phrase(plural, "theme")
        units = self.series() if self.dice.chance(0.3) else self.described()
        return tokens + chunk("ADJP", self.paired(units) if self.dice.chance(0.3) else units)

    def negation(self) -> list[Unit]:
        if self.dice.chance(0.12):
            return [unit("not", "RB")]
        return [unit(self.dice.skewed(self.lexicon.adverbs), "RB")] if self.dice.chance(0.1) else []

    def verb_group(self, verb: Verb, plural: bool) -> list[Unit]:
        """took / will take / has been taking / wants to take: one VP chunk."""
        present = "VBP" if plural else "VBZ"
        finite = self.dice.pick(["VBD", present])
        forms = verb.forms
        form = self.dice.weighted(
            {"simple": 6, "modal": 2, "perfect": 1.5, "progressive": 1, "long": 0.5, "chain": 1}
        )
        if form == "simple":
            return [unit(forms[finite], finite)]
        if form == "modal":
            return [unit(self.dice.pick(MODALS), "MD"), *self.negation(), unit(forms["VB"], "VB")]
        if form == "perfect":
            return [unit(HAVE[finite], finite), *self.negation(), unit(forms["VBN"], "VBN")]
        if form == "long":
            return [
                unit(HAVE[finite], finite),
                unit("been", "VBN"),
                *self.negation(),
                unit(forms["VBG"], "VBG"),
            ]
        if form == "progressive":
            be = {"VBD": "were" if plural else "was"}.get(finite, BE[finite])
            return [unit(be, finite), *self.negation(), unit(forms["VBG"], "VBG")]
        first = {"VBD": "wanted", "VBZ": "wants", "VBP": "want"}[finite]
        return [unit(first, finite), *self.negation(), unit("to", "TO"), unit(forms["VB"], "VB")]

    def predicate(self, plural: bool, depth: int) -> Phrase:
        verb = self.dice.skewed(self.lexicon.verbs[depth == 0 and self.dice.chance(0.12)])
        tokens = []
        if self.dice.chance(0.07):
            tokens += chunk("ADVP", [unit(self.dice.skewed(self.lexicon.adverbs), "RB")])
        tokens += chunk("VP", self.verb_group(verb, plural))
        tokens += getattr(self, verb.frame)(depth)
        if self.dice.chance(0.12):
            tokens += chunk("ADVP", [unit(self.dice.skewed(self.lexicon.adverbs), "RB")])
        return tokens

    def theme(self) -> Phrase:
        return self.noun_phrase(self.dice.chance(0.4), "theme")

    def transitive(self, depth: int) -> Phrase:
        return self.theme()

    def ditransitive(self, depth: int) -> Phrase:
        """gave the man a book: two chunks with nothing between them."""
        if self.dice.chance(0.6):
            return self.noun_phrase(self.dice.chance(0.4), "agent") + self.theme()
        return self.theme() + self.prepositional("to", "agent")

    def clausal(self, depth: int) -> Phrase:
        if depth:
            return self.theme()
        return (chunk("SBAR", [unit("that", "IN")]) if self.dice.chance(0.6) else []) + self.clause(depth=1)

    def motion(self, depth: int) -> Phrase:
        return self.prepositional(self.dice.pick(PLACE_WORDS), "place")

    def phrasal(self, depth: int) -> Phrase:
        """gave up the house / gave the house up."""
        particle = chunk("PRT", [unit(self.dice.pick(PARTICLES), "RP")])
        return particle + self.theme() if self.dice.chance(0.6) else self.theme() + particle

    def plain(self, depth: int) -> Phrase:
        return []


CONFUSIONS = {  # what an imperfect tagger takes each tag for
    "NN": ["JJ", "VB", "NNP"], "NNS": ["VBZ"], "NNP": ["NN", "JJ", "NNPS"], "JJ": ["NN", "VBN", "RB"],
    "VBD": ["VBN"], "VBN": ["VBD", "JJ"], "VBZ": ["NNS"], "VBP": ["NN", "VB"], "VB": ["NN", "VBP"],
    "VBG": ["NN", "JJ"], "IN": ["RP", "RB"], "RP": ["IN"], "RB": ["JJ", "IN"],
}


def mistag(tokens: Phrase, dice: Dice, rate: float) -> Phrase:
    """`tokens` with the tags of a tagger that is wrong at `rate` of the tags that can be confused."""
    return [
        token._replace(tag=dice.pick(CONFUSIONS[token.tag]))
        if token.tag in CONFUSIONS and dice.chance(rate)
        else token
        for token in tokens
    ]
