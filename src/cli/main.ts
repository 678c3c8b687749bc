#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { expectedGpu } from './start/early-start.js';
import { cacheModules } from './start/module-cache.js';

type Start = typeof import('../device/cuda/runtime/start.js');
type Command = typeof import('./run-command.js');

const args = process.argv.slice(2);
// The build joins the modules of commands (scripts/bundle.mjs): loading 340 modules takes 0.3 s, loading a dozen files 0.1 s.
// Coverage is counted by module.
const bundle = new URL('../command/', import.meta.url);
const fromBundle = process.env.NODE_V8_COVERAGE === undefined && existsSync(bundle);
const load = <T>(module: string, bundled: string): Promise<T> =>
  import((fromBundle ? new URL(bundled, bundle) : new URL(module, import.meta.url)).href);

// Before anything else is loaded: opening a GPU takes longer than all the rest of a start.
const gpu = expectedGpu(args, process.env);
const start = gpu === undefined ? undefined : await load<Start>('../device/cuda/runtime/start.js', 'start.js');
if (gpu !== undefined) start?.startEarly(gpu);
await cacheModules(process.env);
const { runProcess } = await load<Command>('./run-command.js', 'command.js');
await runProcess(fromBundle ? bundle.href : undefined);
await start?.closeEarly();
