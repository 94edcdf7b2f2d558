/* SPDX-License-Identifier: Apache-2.0
 *
 * Included before everything in the tracer: binds the few functions that glibc 2.32 to 2.38 gave
 * new symbol versions to their old ones, which every later glibc still has, so that a tracer built
 * on a new system loads on an old one. Elsewhere than glibc it does nothing.
 */
#ifndef RP_TRACER_GLIBC_H
#define RP_TRACER_GLIBC_H

#include <features.h>

#if defined(__GLIBC__)
#if defined(__x86_64__)
#define RP_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define RP_OLDEST "GLIBC_2.17"
#endif
#ifdef RP_OLDEST
#define RP_OLD(function, version) __asm__(".symver " #function "," #function "@" version)
RP_OLD(dlopen, RP_OLDEST);
RP_OLD(dlsym, RP_OLDEST);
RP_OLD(dlerror, RP_OLDEST);
RP_OLD(dladdr, RP_OLDEST);
RP_OLD(pthread_create, RP_OLDEST);
RP_OLD(pthread_join, RP_OLDEST);
RP_OLD(pthread_once, RP_OLDEST);
RP_OLD(pthread_mutexattr_init, RP_OLDEST);
RP_OLD(pthread_mutexattr_settype, RP_OLDEST);
RP_OLD(pthread_mutexattr_destroy, RP_OLDEST);
RP_OLD(pthread_sigmask, RP_OLDEST);
RP_OLD(pthread_detach, RP_OLDEST);
RP_OLD(pthread_rwlock_trywrlock, RP_OLDEST);
RP_OLD(pthread_rwlock_tryrdlock, RP_OLDEST);
RP_OLD(pthread_rwlock_timedwrlock, RP_OLDEST);
RP_OLD(pthread_rwlock_timedrdlock, RP_OLDEST);
RP_OLD(pthread_rwlock_unlock, RP_OLDEST);
RP_OLD(pthread_key_create, RP_OLDEST);
RP_OLD(pthread_getspecific, RP_OLDEST);
RP_OLD(pthread_setspecific, RP_OLDEST);
#if defined(__x86_64__)
RP_OLD(pthread_condattr_setclock, "GLIBC_2.3.3");
#else
RP_OLD(pthread_condattr_setclock, RP_OLDEST);
#endif
#endif
#endif

#endif
