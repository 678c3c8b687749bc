import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import { checkVersion, isLoopback, ownHost, urlHost } from './listening.js';
import { configText, LOOPBACK, type ServerSettings, settingsOf } from './server-config.js';

/** A `nats-server` of our own, whose files are in a folder. It is started again if it dies. */
export class PrivateServer {
  readonly #options: PrivateServerOptions;
  #process: ServerProcess;
  #isStopping = false;
  readonly #restarts: number[] = [];
  /** Rejects when the server dies again and again. */
  readonly failed: Promise<never>;

  private constructor(options: PrivateServerOptions, started: ServerProcess) {
    this.#options = options;
    this.#process = started;
    this.failed = this.#watch();
    this.failed.catch(() => undefined); // told to those who wait for it
  }

  /**
   * Starts a server, or takes over the one that a killed coordinator has left behind: workers are connected to it. Throws
   * `usage` if `nats-server` is not installed, or other machines could connect and it is not safe.
   */
  static async start(options: PrivateServerOptions): Promise<PrivateServer> {
    checkSafe(options);
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    return new PrivateServer(options, (await takeOver(options)) ?? (await startWhereItWas(options)));
  }

  get url(): string {
    return this.#process.url;
  }

  /** Where browsers connect. Undefined if they cannot. */
  get websocketUrl(): string | undefined {
    const { websocket, tls } = this.#options;
    if (websocket === undefined) return undefined;
    const port = this.#process.webPort;
    return `${tls ? 'wss' : 'ws'}://${urlHost(ownHost(websocket.listen.host))}:${port}`;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    signal(this.#process.pid, 'SIGTERM');
    await Promise.race([this.#process.ended, new Promise((resolve) => setTimeout(resolve, STOP_MS).unref())]);
  }

  async #watch(): Promise<never> {
    for (;;) {
      await this.#process.ended;
      if (this.#isStopping) return new Promise<never>(() => undefined);
      const now = performance.now();
      this.#restarts.push(now);
      if (this.#restarts.filter((at) => now - at < 60_000).length > MAX_RESTARTS)
        throw startError(undefined, `it has died ${MAX_RESTARTS} times within a minute`);
      this.#options.warn('nats-server has died and is started again');
      // On the same port, where workers look for it.
      const { url, webPort } = this.#process;
      this.#process = await startProcess(this.#options, Number(new URL(url).port), webPort);
    }
  }
}

export interface PrivateServerOptions extends ServerSettings {
  readonly warn: (message: string) => void;
}

/** Throws `usage` if other machines could connect without TLS, or to a server whose known holes are open. */
function checkSafe({ listen = LOOPBACK, tls, websocket }: PrivateServerOptions): void {
  for (const { host } of [listen, ...(websocket ? [websocket.listen] : [])]) {
    if (isLoopback(host)) continue;
    if (tls === undefined)
      throw new MillraceError({
        code: 'usage',
        message: `other machines could connect to ${host} without TLS`,
        asked: `to listen on ${host}`,
        advice: 'give a certificate, or listen on 127.0.0.1',
      });
    checkVersion(installedVersion(), host);
  }
}

function installedVersion(): string {
  const { stdout, error } = spawnSync('nats-server', ['--version'], { env: serverEnvironment(), encoding: 'utf8' });
  if (error) throw startError(error, '');
  return /: v(\S+)/.exec(stdout)?.[1] ?? 'of an unknown version';
}

interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** The port on which it waits for browsers; 0 if it does not. */
  readonly webPort: number;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
}

/** Returns the server that this folder's ports file names, if it lives. */
function leftBehind(options: PrivateServerOptions): ServerProcess | undefined {
  const { folder } = options;
  const ports = join(folder, 'ports');
  for (const name of existsSync(ports) ? readdirSync(ports) : []) {
    const pid = Number(/^nats-server_(\d+)\.ports$/.exec(name)?.[1]);
    const port = portIn(join(ports, name));
    // A process id may have been given to another program.
    if (port === undefined || !isServer(pid, folder)) continue;
    const webPort = portIn(join(ports, name), 'websocket') ?? 0;
    return { url: urlOf(options, port), pid, webPort, ended: whenGone(pid, folder) };
  }
  return undefined;
}

/** Returns the server that was left behind. One that was started with other settings is stopped. */
async function takeOver(options: PrivateServerOptions): Promise<ServerProcess | undefined> {
  const found = leftBehind(options);
  if (found === undefined) return undefined;
  const file = join(options.folder, CONFIG);
  const has = existsSync(file) ? settingsOf(readFileSync(file, 'utf8')) : '';
  if (has === settingsOf(configText(options, 0))) return found;
  signal(found.pid, 'SIGTERM');
  await found.ended;
  return undefined;
}

/** Starts a server on the port that it had before, where workers and invites look for it, or on a free one. */
async function startWhereItWas(options: PrivateServerOptions): Promise<ServerProcess> {
  const { listen, websocket } = options;
  const [file, webFile] = [join(options.folder, 'port'), join(options.folder, 'websocket-port')];
  const port = listen !== undefined && listen.port > 0 ? listen.port : keptPort(file);
  const webPort = websocket === undefined || websocket.listen.port > 0 ? 0 : keptPort(webFile);
  const keep = (started: ServerProcess): ServerProcess => {
    if (!listen?.port) writeFileSync(file, new URL(started.url).port, { mode: 0o600 });
    if (websocket?.listen.port === 0) writeFileSync(webFile, String(started.webPort), { mode: 0o600 });
    return started;
  };
  if (port > 0) {
    try {
      return keep(await startProcess(options, port, webPort));
    } catch (error) {
      if (listen?.port || !(error instanceof MillraceError) || error.code === 'usage') throw error;
      options.warn(
        `port ${webPort > 0 ? `${port} or ${webPort}` : port} is taken: earlier invites are no longer valid`,
      );
    }
  }
  return keep(await startProcess(options, -1));
}

/** Reads the port that a server had before; 0 if none is known. */
function keptPort(file: string): number {
  const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  return Number.isInteger(port) && port > 0 && port < 2 ** 16 ? port : 0;
}

function isServer(pid: number, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(folder, CONFIG));
  } catch {
    return false;
  }
}

async function whenGone(pid: number, folder: string): Promise<void> {
  while (isServer(pid, folder)) await new Promise((resolve) => setTimeout(resolve, WATCH_MS).unref());
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function startProcess(options: PrivateServerOptions, port: number, webPort = 0): Promise<ServerProcess> {
  const { folder } = options;
  const ports = join(folder, 'ports');
  rmSync(ports, { recursive: true, force: true });
  mkdirSync(ports, { mode: 0o700 });
  const config = join(folder, CONFIG);
  writeFileSync(config, configText(options, port, webPort), { mode: 0o600 });
  // Its own group: Ctrl-C in a terminal reaches the coordinator, which stops the server last.
  const child = spawn('nats-server', ['-c', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: serverEnvironment(),
    detached: true,
  });
  let log = '';
  child.stderr?.on('data', (text: Buffer) => {
    log = (log + text.toString()).slice(-4000);
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const listening = await started(child, ended, ports, () => log);
  const pid = child.pid ?? 0;
  const webPortNow = portIn(join(ports, `nats-server_${pid}.ports`), 'websocket') ?? 0;
  return { url: urlOf(options, listening), pid, webPort: webPortNow, ended: ended.then(() => undefined) };
}

/** The URL by which this machine reaches the server. */
const urlOf = ({ listen = LOOPBACK, tls }: PrivateServerOptions, port: number): string =>
  `${tls ? 'tls' : 'nats'}://${urlHost(ownHost(listen.host))}:${port}`;

/** The server needs its path and a home, nothing else of ours. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH: `${PATH}:/usr/sbin:/usr/local/sbin`, HOME };
}

/** Waits until the server has written the port it listens on. */
async function started(
  child: ChildProcess,
  ended: Promise<number | null>,
  ports: string,
  log: () => string,
): Promise<number> {
  const file = join(ports, `nats-server_${child.pid}.ports`);
  const outcome = ended.then(
    (code) => ({ code, error: undefined }),
    (error: unknown) => ({ code: null, error }),
  );
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; ) {
    const over = await Promise.race([outcome, new Promise<undefined>((resolve) => setTimeout(resolve, 20, undefined))]);
    if (over)
      throw startError(over.error, `it ended with status ${over.code}: ${log().trim().split('\n').at(-1) ?? ''}`);
    const port = portIn(file);
    if (port !== undefined) return port;
  }
  child.kill('SIGKILL');
  throw startError(undefined, `it did not listen within ${START_MS / 1000} s`);
}

function portIn(file: string, kind: 'nats' | 'websocket' = 'nats'): number | undefined {
  try {
    const [url] = (JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, string[]>>)[kind] ?? [];
    return url === undefined ? undefined : Number(new URL(url).port);
  } catch {
    return undefined; // not written yet, or half
  }
}

const CONFIG = 'server.conf';
const START_MS = 10_000;
const STOP_MS = 5_000;
const WATCH_MS = 200;
const MAX_RESTARTS = 5;

function startError(cause: unknown, why: string): MillraceError {
  const isAbsent = (cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
  return new MillraceError({
    code: isAbsent ? 'usage' : 'io',
    message: isAbsent ? 'nats-server is not installed' : `nats-server could not be started: ${why}`,
    asked: 'to start the server of a fleet',
    advice: isAbsent
      ? 'install it (Debian: apt install nats-server; others: https://nats.io/download), or give the URL of a server with --nats'
      : why.includes('in use')
        ? 'give another port with --listen, or stop the program that uses it'
        : 'give the URL of a running server with --nats',
    ...(cause === undefined ? {} : { cause }),
  });
}
