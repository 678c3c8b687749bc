import { whyNotInstalled } from '../../device/packages.js';
import { MillraceError } from '../../kernel/error.js';

export type { NatsConnection, Subscription } from '@nats-io/transport-node';

/** NATS's client, loaded when a fleet is used. */
export interface NatsPackages {
  readonly transport: typeof import('@nats-io/transport-node');
  readonly jetstream: typeof import('@nats-io/jetstream');
}

export async function loadNats(): Promise<NatsPackages> {
  for (const name of ['@nats-io/transport-node', '@nats-io/jetstream'] as const) {
    const message = whyNotInstalled(name);
    if (message === undefined) continue;
    const advice = 'npm install @nats-io/transport-node @nats-io/jetstream';
    throw new MillraceError({ code: 'usage', message, asked: 'a fleet', advice });
  }
  const [transport, jetstream] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
  return { transport, jetstream };
}
