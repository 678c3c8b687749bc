/**
 * The subjects of a fleet F on NATS. A user is in the subjects that it publishes to, and the server lets it publish to no
 * others: so the coordinator knows who has sent a message, whatever the message says.
 *
 *   millrace.F.from.USER         to the coordinator: requests for leases, heartbeats
 *   millrace.F.result.USER       results, kept by the stream millrace-F-results
 *   millrace.F.call.ROLE.USER    requests with an answer: submit, status, fetch
 *   millrace.F.inbox.USER.>      answers to the user's requests
 *   millrace.F.to.USER.PROCESS   to one worker, which is a process of a user
 *   millrace.F.all               to all workers
 *   millrace.F.log               the leader's commits, kept by the stream millrace-F-log
 */
export const subjectOf = (fleet: string, ...tokens: readonly string[]): string =>
  ['millrace', fleet, ...tokens].join('.');

/** Roles that an invite can have. */
export const INVITED_ROLES = ['worker', 'submitter', 'viewer'] as const;

/** What a user may do. `admin` is the person who runs the coordinator. */
export type Role = (typeof INVITED_ROLES)[number] | 'admin';

export const isRole = (text: string): text is Role => text === 'admin' || INVITED_ROLES.some((role) => role === text);

/** Names of users: one token of a subject. */
export const isUserName = (text: string): boolean => /^[A-Za-z0-9_-]{1,40}$/.test(text);

export interface SubjectPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** The subjects that a user may use. */
export function permissionsOf(fleet: string, user: string, role: Role): SubjectPermissions {
  const subject = (...tokens: readonly string[]): string => subjectOf(fleet, ...tokens);
  const publish = [subject('call', role, user)];
  const subscribe = [subject('inbox', user, '>')];
  if (role !== 'worker' && role !== 'admin') return { publish, subscribe };
  return {
    publish: [...publish, subject('from', user), subject('result', user)],
    subscribe: [...subscribe, subject('to', user, '*'), subject('all')],
  };
}

/** A user that has called, and in which role. */
export interface Caller {
  readonly user: string;
  readonly role: Role;
}

/** Reads the subject of a call. Undefined if it is not one. */
export function callerOf(subject: string): Caller | undefined {
  const [role = '', user = ''] = subject.split('.').slice(-2);
  return isRole(role) && isUserName(user) ? { user, role } : undefined;
}

/** The user that has published to a subject `from` or `result`. */
export const senderOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);
