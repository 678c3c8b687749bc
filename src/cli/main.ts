#!/usr/bin/env node
import { processHost } from '../console/host.js';
import { endOnClosedPipe } from '../console/output.js';
import { endWithCommand } from '../device/leave.js';
import { runCommand } from './run-command.js';

endOnClosedPipe();
endWithCommand();
await runCommand(processHost);
