"""A state of the parser: stack, queue and arcs; how actions are executed and undone.

    stack  s2 s1 s0 | q0 q1 q2  queue        shift   q0 goes onto the stack
                                             left    s1 becomes a child of s0, and leaves the stack
                                             right   s0 becomes a child of s1, and leaves the stack

With R relations the actions are: 0 shift; 1 .. R left; R+1 .. 2R right. A sentence of T tokens takes 2T - 1 actions; the
token that is then on the stack is the root.
"""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    SHIFT, LEFT, RIGHT
    KINDS
    N_PLACES = 10
    NOBODY = -1


cdef struct StateC:
    int32_t T
    int32_t depth           # of the stack
    int32_t next            # first token of the queue
    int32_t* stack          # [T]
    int32_t* head           # [T] of tokens that have left the stack
    int32_t* relation       # [T]
    int32_t* first_child    # [T] leftmost child, or NOBODY
    int32_t* last_child     # [T] rightmost child, or NOBODY


cdef inline void state_start(StateC* s, int32_t T, int32_t* room) noexcept nogil:
    """The initial state for T tokens. `room` has space for 5 T numbers."""
    cdef int64_t n = T, t
    s.T, s.depth, s.next = T, 0, 0
    s.stack, s.head, s.relation, s.first_child, s.last_child = room, room + n, room + 2 * n, room + 3 * n, room + 4 * n
    for t in range(T):
        s.head[t] = s.first_child[t] = s.last_child[t] = NOBODY
        s.relation[t] = 0


cdef inline bint state_allows(const StateC* s, int kind) noexcept nogil:
    return s.next < s.T if kind == SHIFT else s.depth > 1


cdef inline bint state_ended(const StateC* s) noexcept nogil:
    return s.next == s.T and s.depth <= 1


# What is needed to undo an action.
cdef struct UndoC:
    int32_t gone        # the token that left the stack
    int32_t before      # the outermost child that it replaced


cdef inline UndoC state_do(StateC* s, int kind, int32_t relation) noexcept nogil:
    cdef UndoC step
    cdef int32_t top
    step.gone = step.before = NOBODY
    if kind == SHIFT:
        s.stack[s.depth] = s.next
        s.depth += 1
        s.next += 1
        return step
    top = s.stack[s.depth - 1]
    s.depth -= 1
    if kind == LEFT:
        step.gone = s.stack[s.depth - 1]
        s.stack[s.depth - 1] = top
        step.before = s.first_child[top]
        s.first_child[top] = step.gone
    else:
        step.gone = top
        top = s.stack[s.depth - 1]
        step.before = s.last_child[top]
        s.last_child[top] = step.gone
    s.head[step.gone], s.relation[step.gone] = top, relation
    return step


cdef inline void state_undo(StateC* s, int kind, UndoC step) noexcept nogil:
    cdef int32_t top
    if kind == SHIFT:
        s.depth -= 1
        s.next -= 1
        return
    top = s.stack[s.depth - 1]
    if kind == LEFT:
        s.first_child[top] = step.before
        s.stack[s.depth - 1] = step.gone
        s.stack[s.depth] = top
    else:
        s.last_child[top] = step.before
        s.stack[s.depth] = step.gone
    s.head[step.gone] = NOBODY
    s.depth += 1


cdef inline void state_places(const StateC* s, int32_t* place) noexcept nogil:
    """The tokens at the places that templates can name (crfkit.template.macros.PLACES), or NOBODY."""
    cdef int32_t k
    for k in range(3):
        place[k] = s.stack[s.depth - 1 - k] if k < s.depth else NOBODY
        place[3 + k] = s.next + k if k < s.T - s.next else NOBODY
    for k in range(2):
        place[6 + 2 * k] = s.first_child[place[k]] if place[k] >= 0 else NOBODY
        place[7 + 2 * k] = s.last_child[place[k]] if place[k] >= 0 else NOBODY
