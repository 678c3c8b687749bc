import { writeFileSync } from 'node:fs';
import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import type { CommandResult } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { MillraceError } from '../../kernel/error.js';
import { type ViewOptions, withClient } from './views.js';

export interface InviteOptions extends ViewOptions {
  readonly role: string;
  /** Seconds. */
  readonly expires: number;
  readonly name?: string;
  readonly trusted?: boolean;
  readonly browser?: boolean;
  readonly out?: string;
  readonly json?: boolean;
}

/** Makes a user of the fleet, and prints the line with which it connects. Events do not have it: it is a secret. */
export async function invite(call: Call<InviteOptions>): Promise<CommandResult> {
  const { output, options } = call;
  const { role, expires: seconds, name, trusted = false, browser = false, out } = options;
  if (options.json && out === undefined) throw noPlace();
  const { user, line } = await withClient(call, (client) =>
    client.invite(role, Math.ceil(seconds), name, trusted, browser),
  );
  registerSecret(line);
  if (out === undefined) output.data(line);
  else writeFileSync(out, `${line}\n`, { mode: 0o600, flag: 'wx' });
  output.say(
    `${user} is a ${trusted ? 'trusted ' : ''}${role} until ${new Date(Date.now() + seconds * 1000).toISOString()}`,
  );
  return { exit: Exit.ok, answer: { user, role, ...(out !== undefined && { file: out }) } };
}

const noPlace = (): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'an invite is a secret, which events do not contain',
    asked: '--json',
    advice: 'give a file with --out',
  });
