"""Invented names of persons, places, organisations and miscellaneous things, many of them ambiguous."""

from dice import Dice

# ruff: noqa: SIM905 -- word lists read better as text

STARTS = "Al Ba Bel Bro Cal Cor Dar Del El Fen Gal Hol Ir Jas Kel Lor Mar Nor Ol Pel Quin Ros Sel Tar Ul Var Wes Yor Zan".split()
MIDDLES = ["", "", "a", "e", "i", "o", "da", "li", "mo", "ne", "ri", "va"]
ENDS = {
    "given": "n na la s ro lin nor ta vin".split(),
    "family": "son ner man ker well ley rick sen ton".split(),
    "place": "ton ford burg stan ley port by mouth via dale".split(),
    "firm": "co x tek sys dyne corp bank lon ker".split(),
}
TITLES = [
    ("Mr", "NNP"),
    ("Mrs", "NNP"),
    ("Dr", "NNP"),
    ("president", "NN"),
    ("minister", "NN"),
    ("teacher", "NN"),
]
PARTS_OF_PLACES = ["North", "South", "New", "Upper", "Lake", "Port"]
KINDS_OF_PLACES = ["Valley", "River", "Island", "Hill", "Bay"]
KINDS_OF_FIRMS = ["Group", "Bank", "Motors", "Corp.", "United", "Press", "Union", "Systems"]
COMPANIES = ["company", "bank", "group", "paper"]
BODIES = ["University", "Bank", "Ministry", "Museum", "Union", "Church"]
EVENTS = ["Cup", "Open", "Prize", "War", "Festival", "Treaty"]
KINDS_BY_ROLE = {
    "agent": {"PER": 6, "ORG": 3, "LOC": 0.3, "MISC": 0.4},
    "theme": {"PER": 2.5, "ORG": 4, "LOC": 0.6, "MISC": 2},
    "place": {"LOC": 8, "ORG": 0.7, "MISC": 0.6},
}

Unit = tuple[str, str, str]  # word, part of speech, entity label


def entity(kind: str, *words: str, tags: dict | None = None) -> list[Unit]:
    """The words of a name, labelled B-kind, I-kind, ..."""
    tags = {"of": "IN", "and": "CC", **(tags or {})}
    return [(w, tags.get(w, "NNP"), ("I-" if i else "B-") + kind) for i, w in enumerate(words)]


class Names:
    """Names drawn from lists with common and rare entries, and now and then coined on the spot.

    Family names, places and firms share part of their entries, so the context has to tell them apart.
    """

    def __init__(self, dice: Dice, seed: int = 2) -> None:
        self.dice = dice
        own = Dice(seed)
        self.lists = {kind: [self.coin(own, kind) for _ in range(100)] for kind in ENDS}
        shared = [self.coin(own, own.pick(list(ENDS))) for _ in range(25)]
        for kind in ("family", "place", "firm"):
            for i, name in enumerate(shared):
                self.lists[kind][4 * i + own.below(4)] = name

    @staticmethod
    def coin(dice: Dice, kind: str) -> str:
        return dice.pick(STARTS) + dice.pick(MIDDLES) + dice.pick(ENDS[kind])

    def draw(self, kind: str) -> str:
        return self.coin(self.dice, kind) if self.dice.chance(0.05) else self.dice.skewed(self.lists[kind])

    def name(self, role: str) -> list[Unit]:
        """A name that can stand as agent, theme or place, with the words that introduce it."""
        return getattr(self, self.dice.weighted(KINDS_BY_ROLE[role]).lower())()

    def per(self) -> list[Unit]:
        form = self.dice.weighted({"family": 3, "given": 1, "full": 3, "titled": 2, "initial": 0.7})
        if form == "titled":
            word, tag = self.dice.pick(TITLES)
            return [(word, tag, "O"), *self.per_of("full" if self.dice.chance(0.3) else "family")]
        return self.per_of(form)

    def per_of(self, form: str) -> list[Unit]:
        if form == "full":
            return entity("PER", self.draw("given"), self.draw("family"))
        if form == "initial":
            return entity(
                "PER", self.draw("given"), self.dice.pick("ABCDEGJKMPRT") + ".", self.draw("family")
            )
        if form == "family" and self.dice.chance(0.08):
            return entity("PER", self.draw("family") + "-" + self.draw("family"))
        return entity("PER", self.draw(form))

    def place_words(self) -> list[str]:
        words = [self.draw("place")]
        if self.dice.chance(0.15):
            words.insert(0, self.dice.pick(PARTS_OF_PLACES))
        if self.dice.chance(0.12):
            words.append(self.dice.pick(KINDS_OF_PLACES))
        return words

    def loc(self) -> list[Unit]:
        return entity("LOC", *self.place_words())

    def org(self) -> list[Unit]:
        form = self.dice.weighted(
            {"bare": 1.5, "called": 2, "firm": 3, "body": 2, "pair": 0.7, "team": 0.5, "letters": 0.7}
        )
        if form == "bare":
            return entity("ORG", self.draw("firm"))
        if form == "called":  # the company Celtek
            return [
                ("the", "DT", "O"),
                (self.dice.pick(COMPANIES), "NN", "O"),
                *entity("ORG", self.draw("firm")),
            ]
        if form == "firm":
            return entity("ORG", self.draw("firm"), self.dice.pick(KINDS_OF_FIRMS))
        if form == "body":
            tail = self.place_words()
            if self.dice.chance(0.3):
                tail += ["and", *self.place_words()]
            return entity("ORG", self.dice.pick(BODIES), "of", *tail)
        if form == "pair":
            return entity("ORG", self.draw("family"), "and", self.draw("family"))
        if form == "team":
            return entity("ORG", *self.place_words())
        return entity("ORG", "".join(self.dice.pick("ABCEFIKLNPRSTU") for _ in range(3)))

    def misc(self) -> list[Unit]:
        words = [self.draw("place"), self.dice.pick(EVENTS)]
        if self.dice.chance(0.3):
            words.insert(0, self.dice.pick(["World", "Great", "New"]))
        return [("the", "DT", "O"), *entity("MISC", *words)]

    def origin(self) -> Unit:
        """The adjective of a place, as in `a Keltonish firm`."""
        return (self.draw("place") + self.dice.pick(["ish", "ese", "an"]), "JJ", "B-MISC")
