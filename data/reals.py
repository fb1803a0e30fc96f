"""A classification task with real values, in CRFsuite's format, one item a sequence."""

from dice import Dice

CENTRES = {  # of the measures, by class
    "early": {"width": 1.0, "height": -0.5, "age": 20.0, "ratio:a/b": 0.10},
    "middle": {"width": 0.0, "height": 0.8, "age": 35.0, "ratio:a/b": 0.10},
    "late": {"width": -1.0, "height": -0.2, "age": 42.0, "ratio:a/b": 0.40},
}
SPREADS = {"width": 0.8, "height": 0.7, "age": 9.0, "ratio:a/b": 0.15}
COLOURS = {"early": "red red green blue", "middle": "red green green blue", "late": "red green blue blue"}


def escape(name: str) -> str:
    """CRFsuite's way to write a name that has a colon or a backslash in it."""
    return name.replace("\\", "\\\\").replace(":", "\\:")


def item(dice: Dice) -> str:
    """Measures (each missing now and then), a measure that means nothing, and a colour without a value (that is 1)."""
    label = dice.weighted({"early": 4, "middle": 3, "late": 3})
    fields = [label, "colour=" + dice.pick(COLOURS[label].split())]
    for name, centre in CENTRES[label].items():
        if not dice.chance(0.05):
            fields.append(f"{escape(name)}:{centre + SPREADS[name] * dice.bell():.2f}")
    fields.append(f"noise:{dice.bell():.2f}")
    return "\t".join(fields) + "\n\n"
