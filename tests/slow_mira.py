"""A slow twin of CRF++'s MIRA in plain Python, for words and two more columns."""


def mira(rows, C, patience, passes):
    """The numbers in each line of the log."""
    labels = sorted({row[2] for one in rows for row in one})
    weights, added, right, quiet = {}, [0.0] * len(rows), [0] * len(rows), 0

    def names(one, t):
        return [f"0{one[t - 1][0] if t else None}", f"1{one[t][0]}/{one[t + 1][1] if t + 1 < len(one) else None}", f"2{one[t][1]}"]

    def features(one, path):
        for t, label in enumerate(path):
            yield from ((name, label) for name in names(one, t))
            if t:
                yield path[t - 1], label

    for number in range(passes):
        active = bounded = errors = flawed = 0
        violation = 0.0
        for i, one in enumerate(rows):
            if right[i] >= patience:
                continue
            active += 1
            ways = {label: (sum(weights.get((name, label), 0) for name in names(one, 0)), [label]) for label in labels}
            for t in range(1, len(one)):
                node = {label: sum(weights.get((name, label), 0) for name in names(one, t)) for label in labels}
                best = {b: max(labels, key=lambda a: (ways[a][0] + weights.get((a, b), 0), -labels.index(a))) for b in labels}
                ways = {b: (ways[a][0] + weights.get((a, b), 0) + node[b], [*ways[a][1], b]) for b, a in best.items()}
            score, found = max(ways.values(), key=lambda way: way[0])
            gold = [row[2] for row in one]
            wrong = sum(a != b for a, b in zip(found, gold, strict=True))
            errors, flawed = errors + wrong, flawed + (wrong > 0)
            right[i] = 0 if wrong else right[i] + 1
            if not wrong:
                continue
            difference = {}
            for sign, path in ((1, gold), (-1, found)):
                for feature in features(one, path):
                    difference[feature] = difference.get(feature, 0) + sign
            lacks = wrong - score + sum(weights.get(feature, 0) for feature in features(one, gold))
            step = max(lacks, 0) / sum(value * value for value in difference.values())
            if added[i] + step >= C:
                step, bounded = C - added[i], bounded + 1
            else:
                violation = max(violation, lacks)
            added[i] += step
            for feature, value in difference.items():
                weights[feature] = weights.get(feature, 0) + step * value
        norm = sum(w * w for w in weights.values())
        terr, serr = errors / sum(map(len, rows)), flawed / len(rows)
        yield [number, terr, serr, active, bounded, norm, violation]
        quiet = 0 if violation > 0 else quiet + 1
        if quiet:
            right = [0] * len(rows)
        if quiet == 2:
            return
