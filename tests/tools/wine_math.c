/* Complex functions that Wine 8 lacks and NumPy imports, by the formulas of textbooks: for programs that do not depend on
 * their last bits. wine.py exports each as the name behind `my_`, and passes other functions on to Wine. */
#include <math.h>

typedef double _Complex D;
typedef float _Complex F;

static double re(D z) { return ((double *)&z)[0]; }
static double im(D z) { return ((double *)&z)[1]; }
static D of(double a, double b) { D z; ((double *)&z)[0] = a, ((double *)&z)[1] = b; return z; }
static D up(F z) { return of(((float *)&z)[0], ((float *)&z)[1]); }
static F down(D z) { F r; ((float *)&r)[0] = (float)re(z), ((float *)&r)[1] = (float)im(z); return r; }
static D times(D a, D b) { return of(re(a) * re(b) - im(a) * im(b), re(a) * im(b) + im(a) * re(b)); }
static D by(D a, D b) { double n = re(b) * re(b) + im(b) * im(b); D t = times(a, of(re(b), -im(b))); return of(re(t) / n, im(t) / n); }

/* Each function for double, float, and long double, which is a double on Windows. */
#define PART(name, value) \
    double my_##name(D z) { return value; } \
    double my_##name##l(D z) { return value; } \
    float my_##name##f(F w) { D z = up(w); return (float)(value); }
#define COMPLEX(name, value) \
    D my_##name(D z) { return value; } \
    D my_##name##l(D z) { return value; } \
    F my_##name##f(F w) { D z = up(w); return down(value); }

PART(creal, re(z))
PART(cimag, im(z))
PART(cabs, hypot(re(z), im(z)))
PART(carg, atan2(im(z), re(z)))
COMPLEX(cexp, of(exp(re(z)) * cos(im(z)), im(z) == 0 ? im(z) : exp(re(z)) * sin(im(z))))
COMPLEX(csin, of(sin(re(z)) * cosh(im(z)), cos(re(z)) * sinh(im(z))))
COMPLEX(ccos, of(cos(re(z)) * cosh(im(z)), -sin(re(z)) * sinh(im(z))))
COMPLEX(csinh, of(sinh(re(z)) * cos(im(z)), cosh(re(z)) * sin(im(z))))
COMPLEX(ccosh, of(cosh(re(z)) * cos(im(z)), sinh(re(z)) * sin(im(z))))
COMPLEX(ctan, by(my_csin(z), my_ccos(z)))
COMPLEX(ctanh, by(my_csinh(z), my_ccosh(z)))

D my_cpow(D a, D b) { return my_cexp(times(b, of(log(my_cabs(a)), my_carg(a)))); }
D my_cpowl(D a, D b) { return my_cpow(a, b); }
F my_cpowf(F a, F b) { return down(my_cpow(up(a), up(b))); }
