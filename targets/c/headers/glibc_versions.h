/* The oldest versions of glibc's functions, for objects that run with any glibc from 2.17 on. Since then these functions got new
 * versions with the same results, for errno alone, or as they moved from libpthread to libc. What is not called needs nothing. */
#ifdef __linux__
#include <features.h>
#endif
#if defined __GLIBC__ && (defined __x86_64__ || defined __aarch64__)
#ifdef __x86_64__
#define TP_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5");
__asm__(".symver pthread_setaffinity_np,pthread_setaffinity_np@GLIBC_2.3.4");
#else
#define TP_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.17");
TP_OLD(pthread_setaffinity_np)
#endif
#define TP_OLD_MATH(name) TP_OLD(name) TP_OLD(name##f)
TP_OLD(pthread_create) TP_OLD(pthread_join) TP_OLD(pthread_mutex_trylock) TP_OLD(pthread_sigmask) TP_OLD(pthread_attr_setstacksize)
TP_OLD(pthread_attr_getstack) TP_OLD(pthread_getattr_np)
TP_OLD_MATH(acos) TP_OLD_MATH(acosh) TP_OLD_MATH(asin) TP_OLD_MATH(asinh) TP_OLD_MATH(atan) TP_OLD_MATH(atan2) TP_OLD_MATH(atanh)
TP_OLD_MATH(cbrt) TP_OLD_MATH(cos) TP_OLD_MATH(cosh) TP_OLD_MATH(erf) TP_OLD_MATH(erfc) TP_OLD_MATH(exp) TP_OLD_MATH(exp2)
TP_OLD_MATH(expm1) TP_OLD_MATH(fmod) TP_OLD_MATH(hypot) TP_OLD_MATH(log) TP_OLD_MATH(log10) TP_OLD_MATH(log1p) TP_OLD_MATH(log2)
TP_OLD_MATH(pow) TP_OLD_MATH(remainder) TP_OLD_MATH(sin) TP_OLD_MATH(sinh) TP_OLD_MATH(sqrt) TP_OLD_MATH(tan) TP_OLD_MATH(tanh)
#endif
