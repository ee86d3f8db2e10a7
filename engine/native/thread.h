/* What the threads of the pool and of the reader have in common. */
#ifndef MARTLET_THREAD_H
#define MARTLET_THREAD_H

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

#endif
