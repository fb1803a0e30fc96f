"""Which features an attribute has: the labels it goes with, and those before them that it looks at."""

cdef enum:
    RULE_DROPPED = 0    # none
    RULE_OBSERVED = 1   # those it was seen with
    RULE_ALL = 2        # every label

cdef enum:
    REACH_EDGE = 0      # the last one, not at the first token: B lines
    REACH_LAST = 1      # the last one: %y[-1]
    REACH_BEFORE = 2    # the one before it: %y[-2]; the sum of the two, 3: both, as in T lines
    REACH_NONE = 4      # no label before: U lines
