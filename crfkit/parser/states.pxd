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
    N_ROOTS = 6             # places that are not children: three of the stack, three of the queue
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
    int32_t* inner          # [T] of a child, the next one inwards on the same side of the head, or NOBODY


cdef inline void state_start(StateC* s, int32_t T, int32_t* room) noexcept nogil:
    """The initial state for T tokens. `room` has space for 6 T numbers."""
    cdef int64_t n = T, t
    s.T, s.depth, s.next = T, 0, 0
    s.stack, s.head, s.relation = room, room + n, room + 2 * n
    s.first_child, s.last_child, s.inner = room + 3 * n, room + 4 * n, room + 5 * n
    for t in range(T):
        s.head[t] = s.first_child[t] = s.last_child[t] = s.inner[t] = NOBODY
        s.relation[t] = 0


cdef inline bint state_allows(const StateC* s, int kind) noexcept nogil:
    return s.next < s.T if kind == SHIFT else s.depth > 1


cdef inline bint state_ended(const StateC* s) noexcept nogil:
    return s.next == s.T and s.depth <= 1


cdef inline int32_t state_do(StateC* s, int kind, int32_t relation) noexcept nogil:
    """Execute an action. Returns the token that leaves the stack, or NOBODY."""
    cdef int32_t top, gone
    if kind == SHIFT:
        s.stack[s.depth] = s.next
        s.depth += 1
        s.next += 1
        return NOBODY
    top = s.stack[s.depth - 1]
    s.depth -= 1
    if kind == LEFT:
        gone = s.stack[s.depth - 1]
        s.stack[s.depth - 1] = top
        s.inner[gone] = s.first_child[top]
        s.first_child[top] = gone
    else:
        gone = top
        top = s.stack[s.depth - 1]
        s.inner[gone] = s.last_child[top]
        s.last_child[top] = gone
    s.head[gone], s.relation[gone] = top, relation
    return gone


cdef inline void state_undo(StateC* s, int kind, int32_t gone) noexcept nogil:
    """Undo the last action, from which `gone` came."""
    cdef int32_t top
    if kind == SHIFT:
        s.depth -= 1
        s.next -= 1
        return
    top = s.stack[s.depth - 1]
    if kind == LEFT:
        s.first_child[top] = s.inner[gone]
        s.stack[s.depth - 1] = gone
        s.stack[s.depth] = top
    else:
        s.last_child[top] = s.inner[gone]
        s.stack[s.depth] = gone
    s.head[gone] = NOBODY
    s.depth += 1


cdef inline void state_roots(const StateC* s, int32_t* place) noexcept nogil:
    """The tokens at the places that are not children (crfkit.template.macros.ROOTS), or NOBODY."""
    cdef int32_t k
    for k in range(3):
        place[k] = s.stack[s.depth - 1 - k] if k < s.depth else NOBODY
        place[3 + k] = s.next + k if k < s.T - s.next else NOBODY
