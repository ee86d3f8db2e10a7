/* What the threads of the pool and of the reader have in common. */
#ifndef MARTLET_THREAD_H
#define MARTLET_THREAD_H

#include <pthread.h>
#include <signal.h>
#ifdef __APPLE__
#include <pthread/qos.h>
#endif

/* Somebody waits for the result: without this, macOS may choose the slow cores. */
static inline void serve_the_user(void)
{
#ifdef __APPLE__
    pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0);
#endif
}

/* Starts a thread that no signal is delivered to: they are for the interpreter's. */
static inline int start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

#endif
