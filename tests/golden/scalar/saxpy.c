/* saxpy, scalar */



static __attribute__((noinline)) int64_t tp_body(const tp_array *arrays, const tp_scalar *scalars)
{
    float *const x = (float *)arrays[0].data;
    const int64_t x_n0 = arrays[0].dims[0];
    float *const y = (float *)arrays[1].data;
    const float a = scalars[0].f32;
    int64_t status = 0;
    {
        int64_t i = (int64_t)0;
        const int64_t i_end = x_n0;
        for (; i_end - i >= 1; i += 1) {
            y[i] = (float)((float)(a * x[i]) + y[i]);
        }
    }
    return status;
}

int64_t tp_kernel(const tp_array *arrays, const tp_scalar *scalars)
{
    tp_flags_clear();
    int64_t status = tp_body(arrays, scalars);
    return status | tp_flags();
}
