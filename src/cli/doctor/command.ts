import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit } from '../../console/command/exit.js';
import { version } from '../../console/command/version.js';
import { plural } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import type { Style } from '../../console/output/style.js';
import { table } from '../../console/output/table.js';
import { type Diagnostic, diagnoseDevices, listDevices } from '../../device/registry.js';
import { cacheFindings } from './cache.js';
import { graphicsFindings } from './graphics.js';
import { packageFindings } from './packages.js';
import { withoutPrivateData } from './private-data.js';
import { environmentFindings, systemFindings } from './system.js';
import { tryDevice } from './trial.js';

/** `millrace doctor` */
export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('report what works on this machine, what does not, and how to fix it')
    .action(action(doctor));
  return withExamples(command, ['millrace doctor > report.txt', 'contains no names or passwords']);
}

export interface Section {
  readonly title: string;
  readonly findings: readonly Diagnostic[];
}

async function doctor({ output, signal }: Call<object>): Promise<CommandResult> {
  const { style } = output;
  output.line(`${style.bold(`Millrace ${version()}`)}, ${new Date().toISOString().slice(0, 10)}`);
  const print = ({ title, findings }: Section): void => {
    if (findings.length === 0) return;
    for (const { what, state, found, advice } of findings)
      output.event('finding', { section: title, what, state, found, advice });
    output.line(`\n${style.bold(title)}`);
    for (const line of findingLines(findings, style)) output.line(line);
  };
  const working: string[] = [];
  const all: Diagnostic[] = [];
  const section = (title: string, findings: readonly Diagnostic[]): void => {
    const shown = findings.map(withoutPrivateData);
    all.push(...shown);
    print({ title, findings: shown });
  };
  const environment = environmentFindings(); // read first: drivers' modules set variables
  section('system', await systemFindings());
  section('packages', packageFindings());
  const { devices, absent } = await listDevices();
  const found: Diagnostic[] = [];
  for (const info of devices) {
    signal.throwIfAborted();
    const finding = await tryDevice(info);
    found.push(finding);
    if (finding.state === 'ok') working.push(info.id);
  }
  for (const { id, reason } of absent) found.push({ what: id, state: 'missing', found: reason });
  section('devices', found);
  const reasons = new Set(absent.map(({ reason }) => reason));
  for (const { kind, findings } of await diagnoseDevices())
    section(
      kind,
      findings.filter((finding) => !reasons.has(finding.found)), // already reported
    );
  const hasWebGpu = devices.some(({ kind }) => kind === 'webgpu');
  for (const { title, findings } of graphicsFindings(hasWebGpu)) section(title, findings);
  section('cache', await cacheFindings());
  section('environment', environment);

  const useful = working.filter((id) => id !== 'interpreter');
  const states = (state: Diagnostic['state']) => all.filter((finding) => finding.state === state).length;
  const counts = { ok: states('ok'), warning: states('warning'), missing: states('missing') };
  output.line();
  output.line(
    useful.length > 0
      ? `${style.good(`${plural(useful.length, 'device')} ready`)}: ${useful.join(', ')}`
      : style.bad('no device works except the interpreter, which is slow: see above for what is missing'),
  );
  output.line(style.dim(`${plural(counts.warning, 'warning')}, ${counts.missing} missing`));
  return { exit: useful.length > 0 ? Exit.ok : Exit.noDevice, answer: { working, counts } };
}

/** Returns a line per finding: state, subject, result; advice follows on its own line. */
export function findingLines(findings: readonly Diagnostic[], style: Style): string[] {
  const colour = { ok: style.good, warning: style.warn, missing: style.dim };
  const rows = findings.map(({ what, state, found }) => [colour[state](state.padEnd(STATE)), what, found]);
  const width = Math.max(...findings.map(({ what }) => what.length));
  const margin = ' '.repeat(INDENT + STATE + GAP + width + GAP);
  return table(rows, { indent: INDENT, gap: GAP }).flatMap((line, at) => {
    const { advice } = findings[at] ?? {};
    return advice === undefined ? [line] : [line, `${margin}→ ${advice}`];
  });
}

const INDENT = 2;
const GAP = 2;
const STATE = 'warning'.length;
