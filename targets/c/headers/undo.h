/* Arrays put aside before a kernel that may stop runs in place: what it had overwritten is put back. */

/* Moves the elements of an array, from `axis` on, to a block of memory, or back from it; gives the end of the block. */
static char *tp_along(const tp_array *a, int axis, int rank, int64_t size, char *at, char *block, int back)
{
    if (axis == rank || (axis == rank - 1 && a->strides[axis] == size)) {       /* elements that lie side by side */
        int64_t bytes = axis == rank ? size : a->dims[axis] * size;
        __builtin_memcpy(back ? at : block, back ? block : at, bytes);
        return block + bytes;
    }
    for (int64_t i = 0; i < a->dims[axis]; i++) block = tp_along(a, axis + 1, rank, size, at + i * a->strides[axis], block, back);
    return block;
}

static inline void tp_move(const tp_array *a, int rank, int64_t size, char *block, int back)
{
    tp_along(a, 0, rank, size, a->data, block, back);
}

/* A copy; null where there is no memory for one. */
static inline char *tp_keep(const tp_array *a, int rank, int64_t size)
{
    int64_t bytes = size;
    for (int k = 0; k < rank; k++) bytes *= a->dims[k];
    char *block = __builtin_malloc(bytes + 1);
    if (block) tp_move(a, rank, size, block, 0);
    return block;
}
