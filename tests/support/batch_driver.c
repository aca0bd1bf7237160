/* Runs many kernels on arguments from standard input, and writes status and memory of each to standard output; see batch.py.
 *
 * Stands behind a table `kernels`. A call: the kernel's number, how many arrays and scalars; each array's bytes, place of its
 * memory relative to a register, lengths and strides, then its elements; or, in place of the bytes, -1 - k: it is array k. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 128
typedef struct { int64_t bytes, shift, dims[5], strides[5]; } place;

static int get(void *p, size_t n) { return fread(p, 1, n, stdin) == n; }

static int intact(const unsigned char *p)
{
    for (int k = 0; k < MARGIN; k++) if (p[k] != 0xa5) return 0;
    return 1;
}

int main(void)
{
    int64_t counts[3], status;
    while (get(counts, sizeof counts)) {
        place places[8];
        tp_array arrays[8];
        tp_scalar scalars[8];
        unsigned char *memory[8];
        for (int k = 0; k < counts[1]; k++) {
            place *p = &places[k];
            if (!get(p, sizeof *p)) return 2;
            if (p->bytes < 0) arrays[k].data = arrays[-1 - p->bytes].data;
            else {
                if (!(memory[k] = aligned_alloc(64, (2 * MARGIN + 64 + p->bytes + 63) & -64))) return 3;
                arrays[k].data = (char *)memory[k] + MARGIN + p->shift;
                memset(arrays[k].data - MARGIN, 0xa5, p->bytes + 2 * MARGIN);
                if (!get(arrays[k].data, p->bytes)) return 2;
            }
            memcpy(arrays[k].dims, p->dims, sizeof p->dims);
            memcpy(arrays[k].strides, p->strides, sizeof p->strides);
        }
        if (!get(scalars, counts[2] * sizeof *scalars)) return 2;
        status = kernels[counts[0]](arrays, scalars);
        for (int k = 0; k < counts[1]; k++) {
            int64_t bytes = places[k].bytes;
            unsigned char *data = (unsigned char *)arrays[k].data;
            if (bytes >= 0 && !(intact(data - MARGIN) && intact(data + bytes))) status = -2;   /* wrote beside its arrays */
        }
        fwrite(&status, sizeof status, 1, stdout);
        for (int k = 0; k < counts[1]; k++) {
            if (places[k].bytes < 0) continue;
            fwrite(arrays[k].data, 1, places[k].bytes, stdout);
            free(memory[k]);
        }
    }
    return 0;
}
