/**
 * Exchanges the token of the address for a cookie, and removes it from the address, so that neither the history nor a
 * screenshot has it; without one, the cookie of an earlier visit counts. Resolves to what the page shows first, and to
 * undefined if the server refuses.
 */
export async function startSession<T>(): Promise<T | undefined> {
  const [, token] = /(?:^#|&)token=([\w-]+)/.exec(location.hash) ?? [];
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search);
  const response = await post('/api/session', { token });
  return response.ok ? ((await response.json()) as T) : undefined;
}

/** Sends a request that may change something. */
export function post(path: string, body: unknown): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    credentials: 'same-origin',
  });
}

/** Asks the server for a change. Resolves to what has changed, or why not. */
export async function ask(path: string, body: unknown): Promise<string> {
  try {
    const response = await post(path, body);
    return response.ok ? ((await response.json()) as { what: string }).what : await messageOf(response);
  } catch {
    return 'the server does not answer';
  }
}

/** Reads JSON; throws with the server's message if it refuses. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, { credentials: 'same-origin', ...(signal && { signal }) });
  if (response.ok) return (await response.json()) as T;
  throw new RequestError(response.status, await messageOf(response));
}

async function messageOf(response: Response): Promise<string> {
  const { message } = (await response.json().catch(() => ({}))) as { message?: string };
  return message ?? `the server answered ${response.status}`;
}

export class RequestError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
