"""Regular expressions for %t and %m, an extension of Wapiti's. Linear time, on UTF-8, without the interpreter.

template/regex_syntax.py defines the syntax and compiles them into programs. A program is run by following all its
threads at once, in order of preference (Pike's machine; R. Cox, "Regular Expression Matching: the Virtual
Machine Approach", 2009): a thread that reaches an instruction where a preferred one has been at the same
character is dropped, so that a character costs at most one visit of each instruction. The length of
programs is limited, and thereby the arrays of a search: 36 KB of stack.
"""

from crfkit.memory cimport arena_zeros, memset

from .regex_syntax import MAX_PROGRAM as LONGEST
from .regex_syntax import compile_pattern

cdef enum:
    MAX_PROGRAM = 1000

if LONGEST > MAX_PROGRAM:
    raise ImportError("template/regex_syntax.py allows longer programs than regex.pyx has room for")

cdef enum: CHARACTER, ANY, SET, BEGIN, END, JUMP, SPLIT, MATCH

cdef dict OPERATIONS = {
    "character": CHARACTER, "any": ANY, "set": SET, "begin": BEGIN, "end": END,
    "jump": JUMP, "split": SPLIT, "match": MATCH,
}

# Kinds of characters; the complement of a kind is its bit shifted by COMPLEMENT. Punctuation has no test in
# Python's tables and becomes ranges.
cdef enum:
    DIGIT = 1
    ALPHA = 2
    ALNUM = 4
    LOWER = 8
    UPPER = 16
    SPACE = 32
    COMPLEMENT = 8

cdef dict KINDS = {"d": DIGIT, "a": ALPHA, "w": ALNUM, "l": LOWER, "u": UPPER, "s": SPACE}


cdef uint32_t text_char(const char* s, int64_t n, int64_t i, int* size) noexcept nogil:
    cdef const unsigned char* u = <const unsigned char*> s
    cdef uint32_t c = u[i]
    cdef int length, k
    if c < 0xC0:  # ASCII, or a stray continuation byte
        size[0] = 1
        return c
    if c < 0xE0:
        length, c = 2, c & 0x1F
    elif c < 0xF0:
        length, c = 3, c & 0x0F
    elif c < 0xF8:
        length, c = 4, c & 0x07
    else:
        size[0] = 1
        return 0xFFFD
    if length > n - i:
        length = <int> (n - i)
    for k in range(1, length):
        c = c << 6 | (u[i + k] & 0x3F)
    size[0] = length
    return c if c <= 0x10FFFF else 0xFFFD


cdef struct ThreadsC:           # where all threads stand, the preferred first
    int32_t count
    int32_t at[MAX_PROGRAM]     # instruction
    int64_t start[MAX_PROGRAM]  # byte where its match began

cdef struct MachineC:
    const InstructionC* program
    int64_t length              # of the text
    int64_t seen[MAX_PROGRAM]   # 1 + the last byte position at which an instruction was reached
    int32_t todo[MAX_PROGRAM + 1]
    ThreadsC threads[2]


cdef void follow(MachineC* machine, ThreadsC* threads, int32_t at, int64_t position, int64_t start) noexcept nogil:
    """Add a thread at instruction `at`, following jumps, choices and anchors to all it leads to."""
    cdef const InstructionC* instruction
    cdef int32_t n = 1
    machine.todo[0] = at
    while n:  # each instruction enters at most one more than it takes, once: todo cannot overflow
        n -= 1
        at = machine.todo[n]
        if machine.seen[at] == position + 1:
            continue
        machine.seen[at] = position + 1
        instruction = &machine.program[at]
        if instruction.op == JUMP:
            machine.todo[n] = instruction.x
            n += 1
        elif instruction.op == SPLIT:
            machine.todo[n] = instruction.y
            machine.todo[n + 1] = instruction.x
            n += 2
        elif instruction.op == BEGIN or instruction.op == END:
            if position == (0 if instruction.op == BEGIN else machine.length):
                machine.todo[n] = at + 1
                n += 1
        else:
            threads.at[threads.count] = at
            threads.start[threads.count] = start
            threads.count += 1


cdef int is_kind(uint32_t c, uint32_t kinds) noexcept nogil:
    """Whether a character is of one of the kinds, or of one of the complements."""
    cdef uint32_t own = (
        (DIGIT if Py_UNICODE_ISDECIMAL(c) else 0) | (ALPHA if Py_UNICODE_ISALPHA(c) else 0) | (ALNUM if Py_UNICODE_ISALNUM(c) else 0)
        | (LOWER if Py_UNICODE_ISLOWER(c) else 0) | (UPPER if Py_UNICODE_ISUPPER(c) else 0) | (SPACE if Py_UNICODE_ISSPACE(c) else 0))
    return (own | ~own << COMPLEMENT) & kinds != 0


cdef int in_set(const SetC* s, const RangeC* ranges, uint32_t c) noexcept nogil:
    """Whether a character belongs to a set; the ranges are sorted and do not overlap."""
    cdef int32_t low = s.first, high = s.last, middle
    while low < high:
        middle = (low + high) >> 1
        if ranges[middle].high < c:
            low = middle + 1
        else:
            high = middle
    if (low < s.last and ranges[low].low <= c) or (s.kinds and is_kind(c, s.kinds)):
        return not s.negated
    return s.negated


cdef class Regex:
    """A compiled regular expression; ValueError says what is wrong with a pattern."""

    def __cinit__(self, str pattern not None):
        cdef int32_t i, k = 0, c
        cdef SetC* s
        program, sets = compile_pattern(pattern)
        self.size = len(program)
        self.program = <InstructionC*> arena_zeros(self, len(program), sizeof(InstructionC))
        self.sets = <SetC*> arena_zeros(self, len(sets), sizeof(SetC))
        self.ranges = <RangeC*> arena_zeros(self, sum([len(ranges) for _, ranges, _ in sets]), sizeof(RangeC))
        for i, (operation, x, y) in enumerate(program):
            self.program[i] = InstructionC(OPERATIONS[operation], x, y)
        for i, (kinds, ranges, negated) in enumerate(sets):
            s = &self.sets[i]
            for kind in kinds:
                s.kinds |= <uint32_t> KINDS[kind.lower()] << (COMPLEMENT if kind.isupper() else 0)
            s.negated = negated
            s.first = k
            for low, high in ranges:
                self.ranges[k] = RangeC(low, high)
                k += 1
            s.last = k
            for c in range(128):
                if in_set(s, self.ranges, c):
                    s.ascii[c >> 6] |= <uint64_t> 1 << (c & 63)

    cdef int search(self, const char* s, int64_t n, int64_t* start, int64_t* end) noexcept nogil:
        cdef MachineC machine
        cdef ThreadsC* now = &machine.threads[0]
        cdef ThreadsC* then = &machine.threads[1]
        cdef const InstructionC* instruction
        cdef const SetC* chosen
        cdef int64_t position = 0
        cdef uint32_t c
        cdef int32_t k
        cdef int size = 0, fits, found = 0
        machine.program = self.program
        machine.length = n
        memset(machine.seen, 0, self.size * sizeof(int64_t))
        now.count = 0
        while True:
            if not found:  # a match may begin here, unless one begun earlier goes on to the end
                follow(&machine, now, 0, position, position)
            if now.count == 0 and (found or self.program[0].op == BEGIN):
                break
            c = text_char(s, n, position, &size) if position < n else 0
            then.count = 0
            for k in range(now.count):
                instruction = &self.program[now.at[k]]
                if instruction.op == MATCH:  # what comes after it in the list is less preferred
                    found = 1
                    start[0] = now.start[k]
                    end[0] = position
                    break
                if position >= n:
                    continue
                if instruction.op == CHARACTER:
                    fits = <uint32_t> instruction.x == c
                elif instruction.op == ANY:
                    fits = 1
                else:
                    chosen = &self.sets[instruction.x]
                    if c < 128:
                        fits = chosen.ascii[c >> 6] >> (c & 63) & 1
                    else:
                        fits = in_set(chosen, self.ranges, c)
                if fits:
                    follow(&machine, then, now.at[k] + 1, position + size, now.start[k])
            if position >= n:
                break
            now, then = then, now
            position += size
        return found
