import { displayText } from '../../network/fields.js';

/** A worker's id begins with its user, which the server has checked. */
export const userOf = (worker: string): string => worker.slice(0, worker.indexOf('.'));

export const isOf = (user: string, worker: string): boolean => worker.startsWith(`${user}.`);

export function checkSender(user: string, worker: string): void {
  if (!isOf(user, worker)) throw new Error(`a message as ${displayText(worker)}, which is not its worker`);
}

/** A worker is called by its id, its user, or the name that it was started with. */
export function isCalled(id: string, name: string): boolean {
  const [user, process = ''] = id.split('.');
  return id === name || user === name || process === name || process.startsWith(`${name}-`);
}

/** The person who runs the coordinator, and all workers of that machine. */
export const ADMIN = 'admin';
