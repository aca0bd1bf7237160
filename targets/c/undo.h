/* Arrays put aside before a kernel that may stop runs in place: what it had overwritten is put back. */

/* Moves an array's elements to a block of memory, or back from it. */
static inline void tp_move(const tp_array *a, int rank, int64_t size, char *block, int back)
{
    int64_t n[3] = {1, 1, 1}, s[3] = {0, 0, size};
    for (int k = 0; k < rank; k++) n[3 - rank + k] = a->dims[k], s[3 - rank + k] = a->strides[k];
    int64_t run = s[2] == size ? n[2] : 1;              /* elements that lie side by side */
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++)
            for (int64_t k = 0; k < n[2]; k += run, block += run * size) {
                char *at = a->data + i * s[0] + j * s[1] + k * s[2];
                __builtin_memcpy(back ? at : block, back ? block : at, run * size);
            }
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
