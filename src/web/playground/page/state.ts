import { computed, signal } from '@preact/signals';
import type {
  CodeFault,
  CountsData,
  DevicesData,
  PassData,
  RunData,
  StepsData,
  Target,
  TargetText,
  TaskData,
} from '../messages.js';

/** What the page shows. */
export const tabs = ['ir', 'cuda', 'opencl', 'wgsl', 'c', 'wat', 'counts', 'run', 'steps'] as const;
export type Tab = (typeof tabs)[number];

export const tab = signal<Tab>('wgsl');
export const source = signal('');
/** The code came with the address and has not run: it waits for a click. */
export const isWaiting = signal(false);
/** `working` from an edit until its last target is compiled. */
export const phase = signal<'starting' | 'working' | 'ready' | 'failed'>('starting');
export const fault = signal<CodeFault | undefined>(undefined);
export const log = signal<readonly string[]>([]);
export const task = signal<TaskData | undefined>(undefined);
export const texts = signal<Readonly<Partial<Record<Target, TargetText>>>>({});
export const passes = signal<readonly PassData[]>([]);
export const pass = signal('place');
export const counts = signal<CountsData | undefined>(undefined);

export interface ListedDevice {
  /** `page wasm`, `server cuda:0` */
  readonly value: string;
  readonly place: 'page' | 'server';
  readonly id: string;
  readonly name: string;
}
export const pageDevices = signal<DevicesData | undefined>(undefined);
export const serverDevices = signal<DevicesData | undefined>(undefined);
export const devices = computed<readonly ListedDevice[]>(() =>
  (['page', 'server'] as const).flatMap((place) =>
    ((place === 'page' ? pageDevices : serverDevices).value?.devices ?? []).map(({ id, name }) => ({
      value: `${place} ${id}`,
      place,
      id,
      name,
    })),
  ),
);
export const device = signal('');

/** Runs of the current code, the latest first. */
export interface RunRow {
  readonly number: number;
  readonly device: string;
  readonly tried: bigint;
  readonly result?: RunData;
  readonly failure?: string;
  /** What a comparison with the interpreter found. */
  readonly verdict?: string;
}
export const runs = signal<readonly RunRow[]>([]);
export const isRunning = signal(false);

export const stepIndex = signal('0');
export const steps = signal<StepsData | undefined>(undefined);
export const step = signal(0);

/** The row of the editor's cursor, which is marked in texts. */
export const row = signal(1);
/** A message for the user, announced. */
export const notice = signal('');
