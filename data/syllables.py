"""An invented language written in syllables without blanks between its words, for word segmentation."""

from dice import Dice

SIGNS = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワンガギグゲゴザジズゼゾダデドバビブベボ"
DIGITS = "0123456789"
PARTICLES = ["ノ", "ガ", "ヲ", "ニ", "ハ", "ト", "カラ"]  # after a noun
ENDINGS = ["ル", "タ", "ナイ", "マス", "テイル"]  # part of the verb
MARKS = ["。", "。", "！"]


class Language:
    """Words that overlap: many strings of two signs occur both inside a word and across two.

    Nouns stand before a particle and verbs carry an ending, which is what tells `AB C` from `A BC`. Doubled
    words (AA, AABB, ABAB) are made on the spot: only the sameness of the signs shows them.
    """

    def __init__(self, dice: Dice, seed: int = 3) -> None:
        own = Dice(seed)
        self.dice = dice
        self.nouns = [self.word(own, {1: 1, 2: 5, 3: 3, 4: 1}) for _ in range(260)]
        self.stems = [self.word(own, {1: 1, 2: 3, 3: 1}) for _ in range(120)]
        self.adjectives = [self.word(own, {2: 3, 3: 2}) + "イ" for _ in range(60)]

    @staticmethod
    def word(dice: Dice, lengths: dict) -> str:
        return "".join(dice.pick(SIGNS[:44]) for _ in range(dice.weighted(lengths)))

    def noun(self) -> str:
        form = self.dice.weighted({"known": 12, "compound": 1.5, "name": 1, "number": 1})
        if form == "compound":
            return self.dice.skewed(self.nouns) + self.dice.skewed(self.nouns)
        if form == "name":
            return "".join(
                self.dice.pick(SIGNS[44:]) if i % 2 else self.dice.pick(SIGNS)
                for i in range(self.dice.between(3, 6))
            )
        if form == "number":
            digits = "".join(self.dice.pick(DIGITS) for _ in range(self.dice.between(1, 4)))
            return digits + self.dice.pick(["", "コ", "ニン"])
        return self.dice.skewed(self.nouns)

    def doubled(self) -> str:
        a, b = self.dice.pick(SIGNS), self.dice.pick(SIGNS)
        return self.dice.pick([a + a, a + a + b + b, a + b + a + b])

    def sentence(self) -> list[str]:
        """The words of one sentence: noun phrases with their particles, then the verb."""
        words = []
        for _ in range(self.dice.between(1, 3)):
            if self.dice.chance(0.25):
                words.append(self.dice.skewed(self.adjectives))
            words += [self.noun(), self.dice.skewed(PARTICLES)]
        if self.dice.chance(0.25):
            words.append(self.doubled())
        return [*words, self.dice.skewed(self.stems) + self.dice.skewed(ENDINGS), self.dice.pick(MARKS)]


def segmented(words: list[str]) -> list[tuple[str, str]]:
    """The signs of `words` with B, M, E (first, middle, last of a word) and S (a word by itself)."""
    return [
        (sign, "S" if len(word) == 1 else "B" if i == 0 else "E" if i == len(word) - 1 else "M")
        for word in words
        for i, sign in enumerate(word)
    ]
