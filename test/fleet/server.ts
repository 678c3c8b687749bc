import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A nats-server that a test kills, and whose files it damages. Each start has another port. */
export class TestServer {
  readonly #folder: string;
  readonly #accounts: readonly string[];
  #child: ChildProcess | undefined;
  #port = 0;

  /** `accounts` are lines of its configuration that say who may connect. */
  constructor(folder: string, accounts: readonly string[]) {
    this.#folder = folder;
    this.#accounts = accounts;
    mkdirSync(folder, { recursive: true });
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    const ports = join(this.#folder, 'ports');
    rmSync(ports, { recursive: true, force: true });
    mkdirSync(ports);
    const config = join(this.#folder, 'server.conf');
    const lines = [
      'host: "127.0.0.1"',
      'port: -1',
      `ports_file_dir: "${ports}"`,
      'authorization { timeout: 10 }',
      `jetstream { store_dir: "${this.storeFolder}" }`,
      ...this.#accounts,
    ];
    writeFileSync(config, `${lines.join('\n')}\n`);
    const child = spawn('nats-server', ['-c', config], {
      stdio: 'ignore',
      env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin`, HOME: this.#folder },
    });
    this.#child = child;
    const file = join(ports, `nats-server_${child.pid}.ports`);
    while (this.#child.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      try {
        const { nats } = JSON.parse(readFileSync(file, 'utf8')) as { readonly nats: readonly string[] };
        this.#port = Number(new URL(nats[0]!).port);
        return;
      } catch {
        // not written yet
      }
    }
    throw new Error(`nats-server ended with ${child.exitCode}`);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** What its streams are stored in. */
  get storeFolder(): string {
    return join(this.#folder, 'store');
  }

  loseFiles(): void {
    rmSync(this.storeFolder, { recursive: true, force: true });
  }

  /** Deletes messages, but not how far they were read. */
  loseMessages(): void {
    for (const name of readdirSync(this.storeFolder, { recursive: true, encoding: 'utf8' }))
      if (/\/msgs\/[^/]+$/.test(name)) rmSync(join(this.storeFolder, name));
  }

  /** Cuts files short, as a power failure may. Returns their names. */
  truncateFiles(random: () => number): string[] {
    const cut: string[] = [];
    for (const name of readdirSync(this.storeFolder, { recursive: true, encoding: 'utf8' })) {
      const path = join(this.storeFolder, name);
      const found = statSync(path);
      if (!found.isFile() || random() < 0.5) continue;
      const length = Math.floor(random() * found.size);
      truncateSync(path, length);
      cut.push(`${name} to ${length} of ${found.size} bytes`);
    }
    return cut;
  }
}
