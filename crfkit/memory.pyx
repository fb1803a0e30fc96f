"""The class whose objects own buffers; see memory.pxd."""


cdef class Arena:

    def __dealloc__(self):
        # The last to go: the buffers stand in the object itself, whose memory is given back after this.
        cdef BufferC* b = self.first
        while b != NULL:
            buffer_free(b)
            b = b.next
