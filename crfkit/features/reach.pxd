"""Which labels before its own a bigram attribute looks at."""

cdef enum:
    REACH_EDGE = 0      # the last one, not at the first token: B lines
    REACH_LAST = 1      # the last one: %y[-1]
    REACH_BEFORE = 2    # the one before it: %y[-2]
    REACH_BOTH = 3      # both: %y[-1] and %y[-2], T lines
