/* Backup of the arrays that a kernel modifies in place, to restore them if the kernel stops at a failed check. */

/* Copies the elements of an array, from `axis` on, to a contiguous block, or back from it; returns the end of what it used. */
static char *tp_along(const tp_array *a, int axis, int rank, int64_t size, char *at, char *block, int back)
{
    if (axis == rank || (axis == rank - 1 && a->strides[axis] == size)) {       /* contiguous elements */
        int64_t bytes = axis == rank ? size : a->dims[axis] * size;
        __builtin_memcpy(back ? at : block, back ? block : at, bytes);
        return block + bytes;
    }
    for (int64_t i = 0; i < a->dims[axis]; i++) block = tp_along(a, axis + 1, rank, size, at + i * a->strides[axis], block, back);
    return block;
}

/* Copies a whole array to a block, or back from it. */
static inline void tp_move(const tp_array *a, int rank, int64_t size, char *block, int back)
{
    tp_along(a, 0, rank, size, a->data, block, back);
}

/* A copy of an array, or null if there is no memory; the caller frees it. */
static inline char *tp_keep(const tp_array *a, int rank, int64_t size)
{
    int64_t bytes = size;
    for (int k = 0; k < rank; k++) bytes *= a->dims[k];
    char *block = __builtin_malloc(bytes + 1);
    if (block) tp_move(a, rank, size, block, 0);
    return block;
}
