import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit } from '../../console/command/exit.js';
import { valueOption } from '../../console/options/options.js';
import type { CommandResult } from '../../console/output/output.js';
import { type Address, parseAddress } from '../../console/telemetry/options.js';
import { startWebServer } from '../server/server.js';
import { playgroundPages } from './pages.js';
import { PlaygroundServer } from './server.js';

/** `millrace playground` */
export function playgroundCommand(): Command {
  const command = new Command('playground')
    .description('write kernels in a page, see what they become, and run them there or on this machine')
    .addOption(
      valueOption('--listen <host:port>', 'address to serve the page at')
        .argParser(parseAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any port'),
    )
    .action(action(playground));
  return withExamples(
    command,
    ['millrace playground', 'prints the address to open'],
    ['millrace playground --listen 8080', 'the address stays the same'],
  );
}

interface PlaygroundOptions {
  readonly listen: Address;
}

async function playground({ output, options, signal }: Call<PlaygroundOptions>): Promise<CommandResult> {
  const devices = new PlaygroundServer();
  const server = await startWebServer({
    address: options.listen,
    pages: playgroundPages('/'),
    routes: devices.routes,
    asked: '--listen',
  });
  output.sayUnredacted(`playground: ${server.url}`);
  output.event('listening', { url: server.url.replace(/#.*/, '') });
  await ended(signal);
  await server.close();
  await devices.close();
  return { exit: Exit.ok, answer: {} };
}

/** The server does not keep the process alive: the timer does. */
function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => undefined, 2 ** 30);
    const end = (): void => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
