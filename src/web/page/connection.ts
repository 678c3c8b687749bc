import { signal } from '@preact/signals';
import { RequestError, read } from './session.js';

/** Whether the page gets data: `refused` without a valid token, `lost` while the server does not answer. */
export type Connection = 'connecting' | 'open' | 'lost' | 'refused' | 'ended';

export const connection = signal<Connection>('connecting');

/** Handlers of server-sent events by name; each gets the event's data. */
export type EventHandlers = Readonly<Record<string, (data: never) => void>>;

/** Follows a stream of server-sent events. The browser connects again by itself; every connection starts with a snapshot. */
export function follow(path: string, handlers: EventHandlers): () => void {
  const source = new EventSource(path);
  source.onopen = () => {
    connection.value = 'open';
  };
  source.onerror = () => {
    if (connection.value === 'ended') return;
    connection.value = 'lost';
    // An answer that is not a stream ends the attempts of the browser.
    if (source.readyState === EventSource.CLOSED) void explain();
  };
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, ({ data }: MessageEvent<string>) => handle(JSON.parse(data) as never));
  }
  // The server says that its command has ended; there is nothing to connect to any more.
  source.addEventListener('end', () => {
    connection.value = 'ended';
    source.close();
  });
  return () => source.close();
}

async function explain(): Promise<void> {
  try {
    await read('/api/session');
  } catch (error) {
    if (error instanceof RequestError && error.status === 401) connection.value = 'refused';
  }
}
