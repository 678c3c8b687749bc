import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

/**
 * Machines of one network, as network namespaces (Linux): a hub with a bridge, and others each with a cable to it. Addresses
 * are 127.0.0.0/8, of which the hub has 127.0.0.1 and machines the next ones, so that a server that listens on loopback is
 * reached by all of them. No machine reaches anything else.
 */
export class Machines {
  readonly #hub: ChildProcess;
  readonly #all: Machine[] = [];

  private constructor(hub: ChildProcess) {
    this.#hub = hub;
  }

  /** Throws with what the system says if namespaces are not permitted. */
  static async open(count: number): Promise<Machines> {
    const machines = new Machines(await held(['unshare', '--map-root-user', '--net']));
    try {
      machines.#configure(machines.hub, [
        'ip link set lo up',
        'ip addr del 127.0.0.1/8 dev lo',
        'ip link add name br0 type bridge',
        'ip addr add 127.0.0.1/8 dev br0',
        'ip link set br0 up',
      ]);
      for (let n = 1; n <= count; n++) await machines.#add(n);
      return machines;
    } catch (error) {
      machines.close();
      throw error;
    }
  }

  /** What starts a command on the hub. */
  get hub(): readonly string[] {
    return inside(this.#hub);
  }

  /** What starts a command on a machine. */
  on(machine: number): readonly string[] {
    return inside(this.#all[machine]!.holder);
  }

  cut(machine: number): void {
    run(this.hub, `ip link set ${this.#all[machine]!.cable} down`);
  }

  heal(machine: number): void {
    run(this.hub, `ip link set ${this.#all[machine]!.cable} up`);
  }

  /** Ends the namespaces, once nothing runs in them. */
  close(): void {
    for (const { holder } of this.#all) holder.kill('SIGKILL');
    this.#hub.kill('SIGKILL');
  }

  async #add(n: number): Promise<void> {
    const holder = await held([...this.hub, 'unshare', '--net']);
    const cable = `cable${n}`;
    this.#all.push({ holder, cable });
    run(this.hub, `ip link add name ${cable} type veth peer name eth0 netns ${holder.pid}`);
    run(this.hub, `ip link set ${cable} master br0 up`);
    this.#configure(inside(holder), [`ip addr add 127.0.0.${n + 1}/8 dev eth0`, 'ip link set eth0 up']);
  }

  #configure(on: readonly string[], commands: readonly string[]): void {
    // Without it the kernel drops packets with these addresses that come from another machine.
    for (const command of ['echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet', ...commands]) run(on, command);
  }
}

interface Machine {
  /** The process that keeps its namespace. */
  readonly holder: ChildProcess;
  /** The hub's end of its cable. */
  readonly cable: string;
}

const inside = ({ pid }: ChildProcess): readonly string[] => [
  ...['nsenter', '--target', String(pid), '--user', '--net', '--preserve-credentials'],
];

/** Starts a process that keeps a namespace until it is killed, or this process ends. */
function held([command = '', ...args]: readonly string[]): Promise<ChildProcess> {
  const child = spawn(command, [...args, 'sh', '-c', 'echo ready; exec cat'], { stdio: 'pipe' });
  let said = '';
  child.stderr.on('data', (part) => {
    said += part;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(said.trim() || `${command} ended`)));
    child.stdout.once('data', () => resolve(child));
  });
}

function run([command = '', ...args]: readonly string[], line: string): void {
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const { status, stderr } = spawnSync(command, [...args, 'sh', '-c', line], { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${line}: ${stderr.trim()}`);
}
