"""The random numbers of trainers, once more."""


class Random:
    """xoshiro256**, seeded by splitmix64."""

    def __init__(self, seed):
        self.s = []
        for k in range(1, 5):
            z = (seed + k * 0x9E3779B97F4A7C15) % 2**64
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
            self.s.append(z ^ z >> 31)
        self.seeds = list(self.s)

    def next(self):
        a, b, c, d = self.s
        self.s = [a ^ d ^ b, b ^ c ^ a, c ^ a ^ (b << 17) % 2**64, rotated(d ^ b, 45)]
        return rotated(b * 5 % 2**64, 7) * 9 % 2**64

    def fraction(self):
        """From 0 on, below 1."""
        return (self.next() >> 11) / 2**53

    def shuffle(self, items):
        for i in range(len(items) - 1, 0, -1):
            j = self.next() % (i + 1)
            items[i], items[j] = items[j], items[i]


def rotated(x, k):
    return (x << k | x >> 64 - k) % 2**64
