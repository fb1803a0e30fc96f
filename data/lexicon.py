"""The words of a toy English: real function words, some real content words and many invented ones.

Invented stems carry ordinary English endings (-s, -ed, -ly, -ness ...), so that a tagger can guess words it has
never seen; many stems are noun and verb, or noun and adjective, so that it cannot go by the word alone.
"""

from dice import Dice

# ruff: noqa: SIM905 -- word lists read better as text

ONSETS = "b bl br c cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sk sl sm sn sp st str t th tr v w z".split()
VOWELS = "a a e e i i o o u ai ea ee oo ou".split()
CODAS = "b ck d ft g l ld lk lm ln lt m mp n nd nk nt p r rd rk rn rt rve sk st t th x".split()

NOUNS = (
    "house man dog market plan company price record report share question garden river road letter test offer "
    "order note cook judge guide light cover group paper engine teacher window minister bank field storm answer"
).split()
VERBS = {  # by what follows them; the frequent ones first
    "transitive": "take buy watch test plan cover paint guide hold order record light judge report use follow".split(),
    "ditransitive": "give send offer show sell hand teach lend".split(),
    "clausal": "say think hope report note know claim".split(),
    "motion": "go walk run march storm move travel drift".split(),
    "phrasal": "look turn hand call cut set give".split(),
    "plain": "sleep work rise fall wait stop answer".split(),
}
IRREGULAR = {  # base: past, participle
    "take": ("took", "taken"), "buy": ("bought", "bought"), "hold": ("held", "held"), "give": ("gave", "given"),
    "send": ("sent", "sent"), "show": ("showed", "shown"), "sell": ("sold", "sold"), "teach": ("taught", "taught"),
    "lend": ("lent", "lent"), "say": ("said", "said"), "think": ("thought", "thought"), "know": ("knew", "known"),
    "go": ("went", "gone"), "run": ("ran", "run"), "cut": ("cut", "cut"), "set": ("set", "set"),
    "sleep": ("slept", "slept"), "rise": ("rose", "risen"), "fall": ("fell", "fallen"), "light": ("lit", "lit"),
}
ADJECTIVES = (
    "old new big small red light cold early fast hard late friendly open clean quiet public long flat".split()
)
ADVERBS = "soon often fast hard early late again never still well there then".split()
NUMBERS = "two three four five ten twelve 20 35 50 100 1,200 3.5".split()
PRONOUNS = {False: ["he", "she", "it"], True: ["they", "we", "you"]}
DETERMINERS = {  # by number
    False: ["the", "the", "a", "this", "that", "every", "no"],
    True: ["the", "the", "these", "some", "no"],
}
POSSESSIVES = ["his", "her", "its", "their", "our"]
MODALS = ["will", "can", "may", "must", "would"]
PLACE_WORDS = ["in", "at", "near", "from", "to", "over", "through", "behind"]
LINK_WORDS = ["of", "with", "for", "by", "about", "after", "before", "under"]
PARTICLES = ["up", "off", "out", "over", "down", "in"]
BE = {"VBZ": "is", "VBP": "are", "VBD": "was", "VBN": "been", "VB": "be"}
HAVE = {"VBZ": "has", "VBP": "have", "VBD": "had", "VB": "have"}


def invent(dice: Dice, syllables: int) -> str:
    """An invented word: consonants and vowels in turn, closed by a consonant."""
    return "".join(dice.pick(ONSETS) + dice.pick(VOWELS) for _ in range(syllables)) + dice.pick(CODAS)


def inflect(base: str, ending: str) -> str:
    """`base` with -s, -ed or -ing, by the simplest rules of English spelling."""
    if ending == "s":
        if base.endswith(("s", "x", "ch", "sh", "z", "o")):
            return base + "es"
        return base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeiou" else base + "s"
    if base.endswith("e"):
        base = base[:-1]
    return base + ending


class Verb:
    """The forms of a verb by their tags, and what it takes after it (`frame`)."""

    def __init__(self, base: str, frame: str) -> None:
        past, participle = IRREGULAR.get(base, (inflect(base, "ed"),) * 2)
        self.frame = frame
        self.forms = {
            "VB": base, "VBP": base, "VBZ": inflect(base, "s"),
            "VBD": past, "VBN": participle, "VBG": inflect(base, "ing"),
        }


class Lexicon:
    """Nouns, verbs, adjectives, adverbs and names, the common ones first in each list."""

    def __init__(self, seed: int = 1) -> None:
        dice = Dice(seed)
        stems = [invent(dice, 1 if dice.chance(0.5) else 2) for _ in range(550)]
        self.nouns, self.adjectives, self.adverbs, verbs = list(NOUNS), list(ADJECTIVES), list(ADVERBS), []
        frames = list(VERBS)
        for rank in range(max(map(len, VERBS.values()))):
            verbs += [Verb(VERBS[frame][rank], frame) for frame in frames if rank < len(VERBS[frame])]
        for stem in stems:
            kind = dice.weighted({"N": 2, "NV": 4, "V": 2, "J": 2, "NJ": 2})
            if "N" in kind:
                self.nouns.append(
                    stem + dice.weighted({"": 6, "ness": 1, "ment": 1, "er": 1, "tion": 1, "ing": 0.7})
                )
            if "V" in kind:
                verbs.append(Verb(stem, dice.pick(frames)))
            if "J" in kind:
                adjective = stem + dice.weighted({"": 4, "ful": 1, "ish": 1, "ous": 1, "al": 1, "ly": 0.6})
                self.adjectives.append(adjective)
                if not adjective.endswith("ly") and dice.chance(0.5):
                    self.adverbs.append(adjective + "ly")
        self.verbs = {True: [v for v in verbs if v.frame == "clausal"], False: verbs}
        self.transitive = [v for v in verbs if v.frame in ("transitive", "ditransitive", "phrasal")]
