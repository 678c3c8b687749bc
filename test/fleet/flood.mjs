// Publishes to a subject as fast as it can until the server ends the connection.
// Reads { url, ca, jwt, seed, subject, text } from standard input.

import { readFileSync } from 'node:fs';
import { connect, jwtAuthenticator } from '@nats-io/transport-node';

/** @type {{ url: string, ca: string, jwt: string, seed: string, subject: string, text: string }} */
const { url, ca, jwt, seed, subject, text } = JSON.parse(readFileSync(0, 'utf8'));
const connection = await connect({
  servers: url,
  authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
  tls: { ca: `-----BEGIN CERTIFICATE-----\n${ca}\n-----END CERTIFICATE-----\n` },
  reconnect: false,
});
const bytes = new TextEncoder().encode(text);
while (!connection.isClosed()) {
  for (let at = 0; at < 5000 && !connection.isClosed(); at++) connection.publish(subject, bytes);
  await connection.flush().catch(() => undefined); // it was cut off
}
