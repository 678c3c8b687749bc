import { createHmac, timingSafeEqual } from 'node:crypto';
import type { LeaseClaim, LeaseTokens, WorkerId } from '../protocol/index.js';

/** Tokens of leases: an HMAC over worker, job and range. So results count however late, after a restart too. */
export function hmacTokens(secret: Uint8Array): LeaseTokens {
  const digest = (worker: WorkerId, { job, id, range, bits }: LeaseClaim): Buffer => {
    const values = [worker, job, id, String(range.start), String(range.length), ...(bits === undefined ? [] : [bits])];
    return createHmac('sha256', secret).update(JSON.stringify(values)).digest();
  };
  return {
    make: (worker, claim) => digest(worker, claim).toString('base64url'),
    isValid: (worker, claim, token) => {
      const given = Buffer.from(token, 'base64url');
      const right = digest(worker, claim);
      return given.length === right.length && timingSafeEqual(given, right);
    },
  };
}
