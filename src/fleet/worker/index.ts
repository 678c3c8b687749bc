/** A machine that works for a fleet. */
export { WorkerService } from './service.js';
