import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit } from '../../console/command/exit.js';
import { withJobSessionOptions } from '../../console/ledger/job-session.js';
import { withMonitorOptions } from '../../console/monitor/monitor.js';
import { withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { withPipelineOptions } from '../../console/options/pipeline-options.js';
import { withTuningOptions } from '../../console/options/tuning-options.js';
import { plural } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { withTelemetryOptions } from '../../console/telemetry/options.js';
import { uhashBench } from './bench.js';
import { mine, prove } from './command/prove.js';
import { inspectBytes } from './inspect.js';
import { IN_FLIGHT } from './kernel/plan.js';
import { verify } from './kernel/reference.js';
import { hex, parseHash, parseHexBytes, parseNonce, uhashOptions } from './options.js';

/** `millrace uhash …` */
export function uhashCommand(): Command {
  const uhash = new Command('uhash')
    .description('UniversalHash v4: find and check proofs of work')
    .addHelpText('after', signalsHelp);
  const proving = uhash
    .command('prove')
    .description('find the smallest nonce, from --start-nonce on, whose hash meets the difficulty')
    .addOption(uhashOptions.challenge().makeOptionMandatory())
    .addOption(uhashOptions.difficulty().makeOptionMandatory())
    .addOption(uhashOptions.startNonce())
    .addOption(
      valueOption('--max-attempts <n>', 'nonces to try; past 2^64 they begin at 0 again')
        .argParser(wholeNumberParser(1, Number.MAX_SAFE_INTEGER))
        .default(1_000_000),
    );
  withDevices(proving).action(action(prove));
  withExamples(
    proving,
    ['millrace uhash prove --challenge 00ff --difficulty 8'],
    ['millrace uhash prove --challenge 00ff --difficulty 20 --fleet', 'on the machines of a fleet'],
  );
  const mining = uhash
    .command('mine')
    .description('find proofs, one after the other')
    .addOption(uhashOptions.challenge().makeOptionMandatory())
    .addOption(uhashOptions.difficulty().makeOptionMandatory())
    .addOption(uhashOptions.startNonce())
    .addOption(
      valueOption('--max-batches <n>', 'batches to try; 0: no limit')
        .argParser(wholeNumberParser(0, 2 ** 32))
        .default(0),
    )
    .addOption(flag('--stop-on-proof', 'end with the first proof'));
  withJobSessionOptions(withDevices(mining)).action(action(mine, { hasCheckpoints: true }));
  withExamples(mining, ['millrace uhash mine --challenge 00ff --difficulty 12 --json', 'an event for each proof']);
  const verifying = uhash
    .command('verify')
    .description('recompute a proof')
    .addOption(uhashOptions.challenge().makeOptionMandatory())
    .addOption(valueOption('--nonce <n>', "the proof's nonce").argParser(parseNonce).makeOptionMandatory())
    .addOption(valueOption('--hash <hex>', "the proof's hash").argParser(parseHash).makeOptionMandatory())
    .addOption(uhashOptions.difficulty())
    .action(action(check));
  const hash = '001bd776ee6e42848a903fa4ab03299705df31705d25fe1b2fe294204a6f1817';
  withExamples(verifying, [`millrace uhash verify --challenge 00ff --nonce 383 --hash ${hash} --difficulty 8`]);
  const inspecting = uhash
    .command('inspect')
    .description('interpret bytes as a hash and as an input')
    .argument('<hex>', 'bytes as hex', parseHexBytes)
    .action(action(inspect));
  withExamples(inspecting, ['millrace uhash inspect 00ff00ff']);
  uhash.addCommand(uhashBench('bench'));
  return uhash;
}

const signalsHelp = `
The signal USR2 pauses prove and mine, and the next one resumes them (kill -USR2 PID); so do the keys p and r.`;

function withDevices(command: Command): Command {
  const fed = withMonitorOptions(
    withTelemetryOptions(
      withDeviceOptions(
        withPipelineOptions(
          command
            .addOption(options.devices().default('auto', 'the best available'))
            .addOption(options.fleet())
            .addOption(uhashOptions.backend())
            .addOption(
              valueOption(
                '--batch-size <n>',
                'nonces per batch, 2 MiB each (default: the best for the device)',
              ).argParser(wholeNumberParser(1, 2 ** 20)),
            ),
          { slots: `${IN_FLIGHT.slots}` },
        ),
      ),
    ),
  );
  return withTuningOptions(fed);
}

interface VerifyOptions {
  readonly challenge: Uint8Array;
  readonly nonce: bigint;
  readonly hash: Uint8Array;
  readonly difficulty?: number;
}

async function check({ output, options: opts }: Call<VerifyOptions>): Promise<CommandResult> {
  const { challenge, nonce, hash, difficulty } = opts;
  const found = verify(challenge, { nonce, hash }, difficulty ?? 0);
  const met = difficulty === undefined ? null : found.difficultyMet;
  const valid = found.hashMatches && met !== false;
  const { good, bad } = output.style;
  output.line(valid ? good('valid') : bad('invalid'));
  if (!found.hashMatches) output.line(`  the nonce's hash is ${hex(found.hash)}`);
  if (met === false) output.line(`  its hash does not have ${plural(difficulty ?? 0, 'leading zero bit')}`);
  const answer = { valid, hash_matches: found.hashMatches, difficulty_met: met };
  return { exit: valid ? Exit.ok : Exit.no, answer };
}

async function inspect({ output, args }: Call<object>): Promise<CommandResult> {
  const found = inspectBytes(args[0] as unknown as Uint8Array);
  for (const [name, value] of Object.entries(found)) output.line(`${name.padEnd(18)} ${value}`);
  return { exit: Exit.ok, answer: found };
}
