/* Copies from page-locked memory to the caller's by several threads: one copies 6 GB/s, a GPU sends 55. */
#include "internal.h"

/* Copies parts until none is left. Under the lock. */
static void copy_parts(Copier *copier) {
  while (copier->taken < copier->bytes) {
    const uint64_t at = copier->taken, left = copier->bytes - at, bytes = left < COPY_BYTES ? left : COPY_BYTES;
    unsigned char *to = copier->to + at;
    const unsigned char *from = copier->from + at;
    copier->taken += bytes;
    pthread_mutex_unlock(&copier->lock);
    memcpy(to, from, (size_t)bytes);
    pthread_mutex_lock(&copier->lock);
    copier->done += bytes;
    if (copier->done == copier->bytes) pthread_cond_broadcast(&copier->changed);
  }
}

static void *copy_thread(void *given) {
  Copier *copier = given;
  pthread_mutex_lock(&copier->lock);
  while (!copier->is_ending) {
    copy_parts(copier);
    pthread_cond_wait(&copier->changed, &copier->lock);
  }
  pthread_mutex_unlock(&copier->lock);
  return NULL;
}

/* Starts the threads, with the first large copy. Fewer than asked for only make it slower. */
static void open_copier(Copier *copier) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  pthread_mutex_init(&copier->lock, NULL);
  pthread_cond_init(&copier->changed, NULL);
  copier->is_open = true;
  while (copier->count < COPY_THREADS - 1 && copier->count < processors - 1 && !MR_FAULT("pthread_create") &&
         pthread_create(&copier->threads[copier->count], NULL, copy_thread, copier) == 0)
    copier->count++;
}

static void close_copier(Copier *copier) {
  if (!copier->is_open) return;
  pthread_mutex_lock(&copier->lock);
  copier->is_ending = true;
  pthread_cond_broadcast(&copier->changed);
  pthread_mutex_unlock(&copier->lock);
  for (int k = 0; k < copier->count; k++) pthread_join(copier->threads[k], NULL);
  pthread_cond_destroy(&copier->changed);
  pthread_mutex_destroy(&copier->lock);
}

static void copy_words(Copier *copier, unsigned char *to, const unsigned char *from, uint64_t bytes) {
  if (bytes < 4 * COPY_BYTES) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  if (!copier->is_open) open_copier(copier);
  pthread_mutex_lock(&copier->lock);
  copier->to = to;
  copier->from = from;
  copier->taken = copier->done = 0;
  copier->bytes = bytes;
  pthread_cond_broadcast(&copier->changed);
  copy_parts(copier);
  while (copier->done < bytes) pthread_cond_wait(&copier->changed, &copier->lock);
  pthread_mutex_unlock(&copier->lock);
}
