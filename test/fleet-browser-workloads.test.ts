import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { millrace } from './command-line.js';
import { factsOf, numberIn } from './dashboard.js';
import { BrowserFleet, expectPhase, type JoinedPage, openJoin, press } from './fleet/browser-fleet.js';
import { whyNoFleet } from './fleet/fleet.js';
import { executable, launchChromium } from './page.js';
import { isShort, patience } from './tier.js';

/** Workloads of the command on workers in headless Chromium: `--fleet` gives the answers of one machine. */
const absent = whyNoFleet();
const data = (name: string) => fileURLToPath(new URL(`data/${name}`, import.meta.url));

describe.skipIf(!executable || absent !== undefined || isShort)(
  'a page that works for a fleet',
  { timeout: patience(180_000) },
  () => {
    let browser: Browser;

    beforeAll(async () => {
      browser = await launchChromium();
    }, patience(60_000));

    afterAll(() => browser?.close());

    const onFleet = ({ fleet }: BrowserFleet, ...args: string[]) =>
      millrace([...args, '--fleet'], { cwd: fleet.folder, env: fleet.env });

    /** Starts a fleet whose only worker is a page. */
    const startWithPage = async (
      device: string,
      isTrusted = true,
    ): Promise<{ fleet: BrowserFleet; page: JoinedPage }> => {
      const fleet = await BrowserFleet.start();
      onTestFinished(() => fleet.close());
      const page = await openJoin(browser, await fleet.link('anna', isTrusted));
      onTestFinished(() => page.close());
      await page.getByRole('combobox', { name: 'Device' }).selectOption(device);
      await press(page, 'Start');
      await expectPhase(page, 'Working');
      return { fleet, page };
    };

    const expectContribution = (page: JoinedPage): Promise<void> =>
      expect
        .poll(async () => numberIn((await factsOf(page)).indices), { timeout: patience(60_000) })
        .toBeGreaterThan(0n);

    test('finds the published nonces of blocks with WebGPU', async () => {
      const { fleet, page } = await startWithPage('webgpu:0');
      const out = join(fleet.fleet.folder, 'nonces.out');
      const ran = await onFleet(fleet, 'block', 'solve', data('block/synthetic/easy00.in'), out);
      expect(ran.stderr).toMatch(/solved in .* on 1 worker, /);
      expect(readFileSync(out, 'latin1')).toBe(readFileSync(data('block/synthetic/easy00.out'), 'latin1'));
      await expectContribution(page);
      expect(page.faults).toEqual([]);
    });

    test("finds a stranger's part of the gaps, with witnesses, which a worker of the command audits", async () => {
      const { fleet, page } = await startWithPage('wasm', false);
      const { fleet: here } = fleet;
      // The largest gap below 2^64 (OEIS A005250, A002386): 1,550 after 18361375334787046697.
      const search = ['gaps', 'search', '--start', '18361375334786900000', '--length', '200000', '--min-gap', '400'];
      const searching = onFleet(fleet, ...search);
      searching.catch(() => undefined); // awaited below
      // The page is alone until it has done something, which then waits for the other's word.
      const { jobs } = here.host.service.core;
      await expect
        .poll(() => [...jobs.values()].some(({ trust }) => trust.unsettled > 0n), { timeout: patience(60_000) })
        .toBe(true);
      await here.join('native', 'wasm');
      const ran = await searching;
      const alone = await millrace([...search, '--device', 'wasm', '--threads', '1', '--no-ledger'], {
        cwd: here.folder,
        env: here.env,
      });
      expect(ran, ran.stderr).toMatchObject({ status: 0, stdout: alone.stdout });
      expect(ran.stdout).toMatch(/^1550 .* 18361375334787046697$/m);
      await expectContribution(page);
      expect(here.notes.filter((note) => /wrong/.test(note))).toEqual([]);
      expect(page.faults).toEqual([]);
    });

    test('finds a published proof of UniversalHash', async () => {
      const { fleet, page } = await startWithPage('wasm');
      const vectors = JSON.parse(readFileSync(data('uhash/vectors.json'), 'utf8')) as {
        proof_vectors: { challenge: string; records: { leading_zero_bits: number; nonce: string; hash: string }[] }[];
      };
      const { challenge, records } = vectors.proof_vectors[0]!;
      const proof = records.find(({ leading_zero_bits: bits }) => bits === 3)!;
      const prove = ['uhash', 'prove', '--challenge', challenge, '--difficulty', '3', '--max-attempts', '30'];
      const ran = await onFleet(fleet, ...prove);
      expect(ran, ran.stderr).toMatchObject({ status: 0, stdout: `${proof.nonce}  ${proof.hash}\n` });
      expect(page.faults).toEqual([]);
    });
  },
);
