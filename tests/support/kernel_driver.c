/* Runs one kernel on arguments from standard input, and writes status and memory to standard output; see native.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

typedef struct { char *data; int64_t dims[5], strides[5]; } array;
typedef struct { int64_t block, offset, dims[5], strides[5]; } place;
int64_t tp_kernel(const array *, const int64_t *);

static void get(void *p, size_t n)
{
    if (fread(p, 1, n, stdin) != n) exit(2);
}

int main(void)
{
    int64_t counts[3], sizes[256], scalars[64];
    array arrays[256];
    char *blocks[256];
#ifdef _WIN32
    _setmode(0, _O_BINARY), _setmode(1, _O_BINARY);
#endif
    get(counts, sizeof counts);
    for (int k = 0; k < counts[0]; k++) {
        get(&sizes[k], sizeof *sizes);
        blocks[k] = malloc(sizes[k] + 1);
        get(blocks[k], sizes[k]);
    }
    for (int k = 0; k < counts[1]; k++) {
        place p;
        get(&p, sizeof p);
        arrays[k].data = blocks[p.block] + p.offset;
        for (int a = 0; a < 5; a++) arrays[k].dims[a] = p.dims[a], arrays[k].strides[a] = p.strides[a];
    }
    get(scalars, counts[2] * sizeof *scalars);
    int64_t status = tp_kernel(arrays, scalars);
    fwrite(&status, 1, sizeof status, stdout);
    for (int k = 0; k < counts[0]; k++) fwrite(blocks[k], 1, sizes[k], stdout);
    return 0;
}
