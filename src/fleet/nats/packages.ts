import { type OptionalPackage, whyNotInstalled } from '../../device/packages.js';
import { MillraceError } from '../../kernel/error.js';

export type { NatsConnection, Subscription } from '@nats-io/transport-node';

/** NATS's client, loaded when a fleet is used. */
export interface NatsPackages {
  readonly transport: typeof import('@nats-io/transport-node');
  readonly jetstream: typeof import('@nats-io/jetstream');
}

export async function loadNats(): Promise<NatsPackages> {
  checkInstalled('@nats-io/transport-node', '@nats-io/jetstream');
  const [transport, jetstream] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
  return { transport, jetstream };
}

/** Keys and signed claims of NATS, loaded only where a fleet is served. */
export async function loadJwt(): Promise<typeof import('@nats-io/jwt')> {
  checkInstalled('@nats-io/jwt');
  return import('@nats-io/jwt');
}

function checkInstalled(...names: readonly OptionalPackage[]): void {
  for (const name of names) {
    const message = whyNotInstalled(name);
    if (message === undefined) continue;
    const advice = 'npm install @nats-io/transport-node @nats-io/jetstream @nats-io/jwt';
    throw new MillraceError({ code: 'usage', message, asked: 'a fleet', advice });
  }
}
