/* What compilers take of a C library newer than the wheel's, glibc 2.28, and what they read of it in place (the standard streams and
   the environment: the linker would copy them, and zig's outline of the library gives all of its data one place). */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define OURS __attribute__((visibility("hidden")))

/* Of 2.32: whether counts of std::shared_ptr may do without atomic instructions. */
OURS char __libc_single_threaded = 0;

/* Of 2.30, for std::condition_variable: the time that is left, by the clock of pthread_cond_timedwait. */
OURS int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                const struct timespec* until) {
  struct timespec now;
  struct timespec end;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += until->tv_sec - now.tv_sec;
  end.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += 1000000000;
    --end.tv_sec;
  } else if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    ++end.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

extern char _IO_2_1_stdin_, _IO_2_1_stdout_, _IO_2_1_stderr_;
OURS FILE* stdin = (FILE*)&_IO_2_1_stdin_;
OURS FILE* stdout = (FILE*)&_IO_2_1_stdout_;
OURS FILE* stderr = (FILE*)&_IO_2_1_stderr_;

extern char** __environ;
OURS char** environ;
__attribute__((constructor(101))) static void take_environment(void) { environ = __environ; }
