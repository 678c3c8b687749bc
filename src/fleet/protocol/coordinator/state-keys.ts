/** The scope of what is known of workers, whatever they work on. Others are those of jobs. */
export const WORKERS = 'workers';
/** Keys of a job, besides those of its trust. */
export const PAUSED = 'paused';
export const PRIORITY = 'priority';
