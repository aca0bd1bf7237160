/* The parts of exp of a complex number; a template as vmath.h says. */

//: cexp_re needs cexp_re_core patched2

//: cexp_im needs cexp_im_core patched2

//: lane2@cexp_re
static inline $s lane2_${op}_F($s x, $s y) { return __builtin_creal$f(__builtin_cexp$f(__builtin_complex(x, y))); }

//: lane2@cexp_im
static inline $s lane2_${op}_F($s x, $s y) { return __builtin_cimag$f(__builtin_cexp$f(__builtin_complex(x, y))); }

//: cexp needs steep exppoly
/* Rare: where exp of the real part is not normal, or the imaginary one out of the reach of sin and cos. */
#define cexp_rare_F(x, y) (steep_F(x) | far_F(y))
TP_INLINE F cexp_size_F(F x)
{
    U n;
    F r = expreduce_F(x, STEPS_F, &n);
    return expscale_F(exppoly_F(r), n);
}

//: cexp_re_core needs cexp cos_core
#define cexp_re_rare_F cexp_rare_F
#define cexp_re_core_F(x, y) (cexp_size_F(x) * cos_core_F(y))

//: cexp_im_core needs cexp sin_core
#define cexp_im_rare_F cexp_rare_F
#define cexp_im_core_F(x, y) (cexp_size_F(x) * sin_core_F(y))
