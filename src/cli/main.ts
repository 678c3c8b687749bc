#!/usr/bin/env node
import { processHost } from '../console/host.js';
import { endOnClosedPipe } from '../console/output.js';
import { runCommand } from './run-command.js';

endOnClosedPipe();
await runCommand(processHost);
