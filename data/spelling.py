"""Invented words and how they are said: spelling rules that look left, right and far back, for letter to sound.

* The first vowel makes the whole word `light` (e, i) or `dark` (a, o, u). Every consonant of a light word is
  softened, and each vowel has a light and a dark form. Only the chain of sounds carries this from letter to letter.
* Consonants in a row are all voiced or all voiceless, after the last of them; at the end of a word, voiceless.
* Two letters may make one sound (`sh`, a doubled consonant): the second is silent, written `-`.
* An e at the end is silent and lengthens the vowel before the last consonant.
* Foreign words, nearly all that have an x somewhere in them, are dark whatever their first vowel.
"""

from dice import Dice

DARK, LIGHT = "aou", "ei"
VOWELS = DARK + LIGHT
LIGHT_VOWELS = {"a": "ä", "o": "ö", "u": "ü"}
DARK_VOWELS = {"e": "ë", "i": "ï"}
VOICELESS = {"b": "p", "d": "t", "g": "k", "z": "s"}
VOICED = {sound: letter for letter, sound in VOICELESS.items()}
STARTS = ["x", *4 * ["b", "d", "g", "k", "l", "m", "n", "s", "t", "sh", "c"]]
ENDS = ["", "", "", "", "n", "l", "s", "t", "d", "ll", "bs", "st"]


def spell(dice: Dice) -> tuple[str, bool]:
    """A word and whether it is foreign. Most vowels, but not all, are of the kind of the first one."""
    kin = dice.pick([DARK, LIGHT])
    word = ""
    for syllable in range(dice.weighted({1: 1, 2: 5, 3: 3, 4: 1})):
        vowels = kin if syllable == 0 or dice.chance(0.75) else VOWELS
        word += dice.pick(STARTS) + dice.pick(vowels) + dice.pick(ENDS)
    if word[-1] not in VOWELS and word[-2] in VOWELS and dice.chance(0.35):
        word += "e"
    return word, dice.chance(0.95 if "x" in word else 0.02)


def pronounce(word: str, foreign: bool) -> list[str]:
    """One sound a letter."""
    light = not foreign and next(letter for letter in word if letter in VOWELS) in LIGHT
    sounds = list(word)
    for i, letter in enumerate(word):
        pair, following = word[i : i + 2], word[i + 1 : i + 2]
        if sounds[i] == "-":
            continue
        if pair == "sh":
            sounds[i], sounds[i + 1] = "S", "-"
        elif letter == following and letter not in VOWELS:
            sounds[i + 1] = "-"
        elif letter == "c":
            sounds[i] = "s" if following and following in LIGHT else "k"
        elif letter == "x":
            sounds[i] = "z" if i == 0 else "ks"
    voice(sounds)
    if len(word) > 3 and word[-1] == "e" and word[-2] not in VOWELS and word[-3] in VOWELS:
        sounds[-1], sounds[-3] = "-", sounds[-3] + ":"
    return [colour(sound, light) for sound in sounds]


def voice(sounds: list[str]) -> None:
    """Give consonants in a row the voice of the last of them, from the end of the word to its start."""
    target = VOICELESS
    for i in range(len(sounds) - 1, -1, -1):
        sound = sounds[i]
        if sound == "-":
            continue
        if sound in VOICELESS or sound in VOICED:
            if target is None:
                target = VOICED if sound in VOICELESS else VOICELESS
            sounds[i] = target.get(sound, sound)
        else:
            target = None


def colour(sound: str, light: bool) -> str:
    """The light or the dark form of a sound, silence included."""
    if sound[0] in VOWELS:
        return (LIGHT_VOWELS if light else DARK_VOWELS).get(sound[0], sound[0]) + sound[1:]
    return sound + "'" if light else sound


def said(dice: Dice) -> list[tuple[str, str]]:
    """The letters of a new word with their sounds."""
    word, foreign = spell(dice)
    return list(zip(word, pronounce(word, foreign), strict=True))
