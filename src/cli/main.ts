#!/usr/bin/env node
import { processHost } from '../console/command/host.js';
import { endOnClosedPipe } from '../console/output/output.js';
import { runCommand } from './run-command.js';

endOnClosedPipe();
await runCommand(processHost);
