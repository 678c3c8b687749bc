import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressOf, executable, isolated, launchChromium, serve, useChromium } from './page.js';
import { makeSite, Playground } from './playground/page.js';
import { isShort, patience } from './tier.js';
import { expectFits } from './usable.js';

/** The playground as a static site, in headless Chromium. test/browser.test.ts has the test of short runs. */
describe.skipIf(!executable || isShort)('the playground', () => {
  let site: ReturnType<typeof makeSite>;
  let server: Server;
  let plain: Server;
  const chromium = useChromium();
  /** What the server was asked for. */
  const served: string[] = [];

  beforeAll(async () => {
    site = makeSite();
    server = await serve(site.folder, (path) => {
      served.push(path);
      return isolated;
    });
    plain = await serve(site.folder, () => ({}));
  }, patience(60_000));

  afterAll(async () => {
    server?.close();
    plain?.close();
    site?.remove();
  });

  const open = (hash = '', from = server): Promise<Playground> =>
    Playground.open(chromium.browser, `${addressOf(from)}/index.html${hash}`);

  describe('examples and workloads', () => {
    let playground: Playground;
    beforeAll(async () => {
      playground = await open();
      await playground.settled();
    }, patience(60_000));
    afterAll(() => playground?.close());

    const devices = ['page wasm', 'page webgpu:0'];

    test.for([
      ...['collatz', 'search', 'generate', 'transform', 'pi', 'image', 'rc4', 'mixed', 'histogram'],
      ...['block', 'words', 'uhash', 'encode', 'gaps'],
    ])('%s compiles for every target and runs as on the interpreter', { timeout: patience(300_000) }, async (name) => {
      await playground.choose(name);
      expect(await playground.fault()).toBeUndefined();
      await playground.tab('counts');
      const sizes = await playground.page
        .locator('#sizes tbody tr')
        .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
      expect(sizes.map(([target]) => target)).toEqual(['cuda', 'opencl', 'wgsl', 'c', 'wat']);
      for (const [target, lanes, statements, characters] of sizes) {
        expect(Number(lanes), target).toBeGreaterThan(0);
        expect(numberIn(statements), target).toBeGreaterThan(1);
        expect(numberIn(characters), target).toBeGreaterThan(500);
      }
      for (const device of devices) {
        const { summary, verdict, hits, values } = await playground.run(device, true);
        expect(verdict ?? summary, device).toMatch(/^the interpreter gives the same/);
        known[name]?.(hits, values);
      }
      expect(playground.complaints).toEqual([]);
    });

    test('shows the IR after each pass, and the text of each target', { timeout: patience(120_000) }, async () => {
      await playground.choose('collatz');
      await playground.tab('ir');
      const text = (): Promise<string> => playground.text();
      await expect
        .poll(() => playground.page.locator('#pass option').allTextContents())
        .toEqual([
          ...['trace', 'inline', 'ring', 'returns', 'fold', 'hoist', 'bound arrays', 'place'],
          ...['split u64 (wgsl)', 'gang (c, wat)'],
        ]);
      await playground.page.selectOption('#pass', 'trace');
      await expect.poll(text).toContain('emit %');
      await playground.page.selectOption('#pass', 'ring');
      await expect.poll(text).not.toContain('emit %');
      const marks = { cuda: '__global__', opencl: '__kernel', wgsl: '@compute', c: '#include', wat: '(module' };
      for (const [tab, mark] of Object.entries(marks)) {
        await playground.tab(tab);
        await expect.poll(text, { message: tab }).toContain(mark);
      }
    });
  });

  test('shows a mistake at its line', { timeout: patience(120_000) }, async () => {
    const playground = await open();
    await playground.settled();
    const head = "import { items, u32, when } from 'millrace';\n";
    const body = (line: string): string =>
      `${head}export default items('x', { hit: { n: u32 } }, ({ index, emit }) => {\n  ${line}\n  emit({ n: index.lo });\n});\n`;
    const cases: [line: string, fault: RegExp][] = [
      ['const a: u32 = = 1;', /^line 3: syntax error/],
      ['const a = index.lo < 5;', /^line 3: /],
      ['if (index.lo.eq(1)) return;', /^line 3: kernel x: the bool made at .* is never used/],
      ['when(index.lo.rem(0).foo(), () => {});', /^line 3: TypeError: .*foo is not a function/],
      ['enum E { A }', /^line 3: an enum is not only a type/],
    ];
    for (const [line, fault] of cases) {
      await playground.write(body(line));
      expect(await playground.fault(), line).toMatch(fault);
      // The editor has a mark in that line.
      const marks = () => playground.page.locator('#editor .cm-lintRange-error').count();
      await expect.poll(marks, { message: line }).toBeGreaterThan(0);
    }
    await playground.write("import { items } from 'lodash';\nexport default items;\n");
    expect(await playground.fault()).toBe('line 1: there is no module "lodash" here');
    await playground.write(body(''));
    expect(await playground.fault()).toBeUndefined();
    // An access outside a buffer, on a device of the page.
    await playground.write(`import { items, rw, u32 } from 'millrace';
const kernel = items('far', { buffers: { x: rw(u32) } }, ({ item, buffers }) => {
  buffers.x.set(item.add(5), 1);
});
export default { kernel, space: 4, buffers: { x: 4 } };
`);
    const { summary } = await playground.run('page wasm');
    expect(summary).toMatch(/^line 3: /);
    await playground.close();
  });

  test('steps through an index and shows values', { timeout: patience(120_000) }, async () => {
    const playground = await open();
    await playground.settled();
    await playground.tab('steps');
    await playground.page.fill('#step-index', '5'); // n is 6
    await playground.page.click('#step-load');
    await playground.page.locator('#step-at', { hasText: /^step 1 of/ }).waitFor();
    const setsIn = (text: string): string[] =>
      text.split('\n').flatMap((line) => /^\s*10\s+set (\d+)/.exec(line)?.[1] ?? []);
    await expect.poll(async () => setsIn(await playground.text()).length).toBeGreaterThan(2);
    const text = await playground.text();
    const set = setsIn(text);
    // The numbers after 6, which JavaScript computes here.
    const wanted: string[] = [];
    for (let n = 6; n !== 1; ) {
      n = n % 2 === 0 ? n / 2 : 3 * n + 1;
      wanted.push(String(n));
    }
    expect(set).toEqual(wanted.slice(0, set.length));
    const markedRow = () => playground.page.locator('#editor .cm-line.marked').textContent();
    await expect.poll(markedRow).toContain('cell(u32');
    for (let i = 0; i < 6; i++) await playground.page.click('#step-next');
    await expect.poll(() => playground.page.textContent('#step-at')).toMatch(/^step 7 of/);
    const markedLine = () => playground.page.locator('#text .cm-line.marked').textContent();
    await expect.poll(markedLine).toBe(text.split('\n')[6]);
    await playground.close();
  });

  test('code from an address waits for a click', { timeout: patience(120_000) }, async () => {
    const author = await open();
    await author.settled();
    await author.write(`console.log('it ran');\n${SIMPLE}`);
    expect(await author.page.textContent('#log')).toBe('it ran');
    await author.page.click('#share');
    await author.status(/^the link is/);
    const hash = new URL(author.page.url()).hash;
    await author.close();

    const reader = await open(hash);
    await reader.page.waitForSelector('#trust');
    await expect
      .poll(() => reader.page.locator('#editor .cm-line').first().textContent())
      .toBe("console.log('it ran');");
    // Nothing runs by itself, not even after an edit.
    await reader.page.locator('#editor .cm-content').click();
    await reader.page.keyboard.insertText('// edited\n');
    await reader.page.waitForTimeout(1000);
    expect(await reader.page.locator('#log').count()).toBe(0);
    expect(reader.page.frames()).toHaveLength(1);
    await reader.page.click('#trust');
    await reader.settled();
    expect(await reader.page.textContent('#log')).toBe('it ran');
    await reader.close();

    const damaged = await open('#code=1.AAAA');
    await damaged.status(/damaged/);
    await damaged.close();
  });

  test('hostile code stays in its frame', { timeout: patience(180_000) }, async () => {
    const playground = await open();
    await playground.settled();
    const { page } = playground;
    await page.evaluate("localStorage.setItem('secret', 'of the page')");
    const before = served.length;
    // Each line tells what it could do.
    await playground.write(`const attempts = {
  parent: () => parent.document.title,
  top: () => top.location.href,
  window: () => window.frames.length,
  document: () => document.cookie,
  local: () => localStorage.getItem('secret'),
  eval: () => eval('1'),
  Function: () => new Function('return 1')(),
  script: () => importScripts('${addressOf(server)}/sandbox.js'),
  request: () => {
    const request = new XMLHttpRequest();
    request.open('GET', '${addressOf(server)}/examples.json', false);
    request.send();
    return request.responseText.length;
  },
  socket: () => new WebSocket('ws://127.0.0.1:9/').url,
};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    console.log(name, 'worked', attempt());
  } catch (error) {
    console.log(name, 'failed');
  }
}
const later = {
  fetch: () => fetch('${addressOf(server)}/examples.json'),
  beacon: async () => navigator.sendBeacon('${addressOf(server)}/beacon', 'x') || Promise.reject(),
  database: () => new Promise((resolve, reject) => {
    const open = indexedDB.open('x');
    open.onsuccess = resolve;
    open.onerror = reject;
  }),
  caches: () => caches.open('x'),
  files: () => navigator.storage.getDirectory(),
};
for (const [name, attempt] of Object.entries(later)) {
  await (async () => attempt())().then(() => console.log(name, 'worked'), () => console.log(name, 'failed'));
}
${SIMPLE}`);
    const log = ((await page.textContent('#log')) ?? '').split('\n');
    const worked = log.filter((line) => line.includes('worked'));
    // A socket is an object at once; its connection is refused by the policy.
    expect(worked.filter((line) => !line.startsWith('socket'))).toEqual([]);
    expect(log).toHaveLength(15);
    // The editor loads its names when something is typed.
    expect(served.slice(before).filter((path) => path !== '/completion.json')).toEqual([]);

    // Loops without an end, at once and while the kernel is traced.
    for (const loop of ['for (;;);', 'await new Promise(() => {});']) {
      await playground.type(`${loop}\n${SIMPLE}`);
      // The page answers meanwhile.
      await page.click('#tab-counts');
      await expect.poll(() => page.getAttribute('#tab-counts', 'aria-selected')).toBe('true');
      await playground.settled();
      expect(await playground.fault()).toContain('took more than 5 s and was ended');
    }

    // Answers in the place of ours: nothing of them is trusted.
    await playground.write(`import { Expr } from 'millrace';
const port = new Promise(() => {});
Object.prototype.toString = () => 'x';
Array.prototype.map = () => { throw new Error('broken'); };
postMessage({ evaluation: { task: { kernel: new Uint8Array([1, 2, 3]), start: 0n, length: 1n } } });
${SIMPLE}`);
    expect(await playground.fault()).toBeDefined();

    // The next text gets a new thread.
    await playground.write(SIMPLE);
    expect(await playground.fault()).toBeUndefined();
    expect((await playground.run('page interpreter')).hits).toEqual([['3', '9']]);
    expect(await page.evaluate("localStorage.getItem('secret')")).toBe('of the page');
    // The only error that nothing caught is the one that the code threw in our code.
    expect(playground.complaints.filter((one) => one !== 'Error: broken')).toEqual([]);
    await playground.close();
  });

  test('works on a server without headers, except for WebAssembly', { timeout: patience(120_000) }, async () => {
    const playground = await open('', plain);
    await playground.settled();
    expect(await playground.fault()).toBeUndefined();
    await playground.write(SIMPLE);
    await playground.tab('run');
    const listed = () => playground.page.locator('#device option').allTextContents();
    await expect
      .poll(async () => (await listed()).map((text) => text.split(' ')[2]))
      .toEqual(['webgpu:0', 'interpreter']);
    await expect.poll(() => playground.page.textContent('#panel')).toContain('Cross-Origin-Embedder-Policy');
    for (const device of ['page webgpu:0', 'page interpreter'])
      expect((await playground.run(device)).hits, device).toEqual([['3', '9']]);
    const origin = addressOf(plain);
    expect(playground.requests.filter((url) => !url.startsWith(origin) && !url.startsWith('blob:'))).toEqual([]);
    expect(playground.complaints).toEqual([]);
    await playground.close();
  });

  test('fits a phone, and can be used by keyboard', { timeout: patience(120_000) }, async () => {
    const playground = await open();
    await playground.settled();
    const { page } = playground;
    await page.setViewportSize({ width: 320, height: 640 });
    for (const tab of ['wgsl', 'counts', 'run', 'steps']) {
      await playground.tab(tab);
      await expectFits(page);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.focus('#example');
    const visited: string[] = [];
    for (let i = 0; i < 8; i++) {
      await page.keyboard.press('Tab');
      visited.push((await page.evaluate('document.activeElement.id')) as string);
    }
    // Tab leaves the editor; arrows move between the tabs.
    expect(visited.slice(0, 3)).toEqual(['share', 'editor', 'tab-steps']);
    await page.focus('#tab-steps');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => page.getAttribute('#tab-run', 'aria-selected')).toBe('true');
    const names = await page
      .locator('#panel select, #panel button, header select, header button')
      .evaluateAll((all) => all.map((one) => one.closest('label')?.textContent ?? one.textContent ?? ''));
    expect(names.every((name) => name.trim() !== '')).toBe(true);
    await playground.close();
  });

  test('a kernel without an end can be stopped, and the device used again', {
    timeout: patience(120_000),
  }, async () => {
    const playground = await open();
    await playground.settled();
    const { page } = playground;
    await playground.write(`import { items, rw, u32, whileTrue } from 'millrace';
const kernel = items('endless', { buffers: { x: rw(u32) } }, ({ buffers }) => {
  whileTrue(() => buffers.x.at(0).eq(0), () => {});
});
export default { kernel, space: 4, buffers: { x: 1 } };
`);
    for (const device of ['page wasm', 'page interpreter']) {
      await playground.tab('run');
      await page.selectOption('#device', device);
      await page.click('#run');
      await page.locator('.run[data-state="running"]').waitFor();
      await page.waitForTimeout(500);
      await page.click('#stop');
      await page.locator(`.run[data-state="failed"][data-device="${device}"]`, { hasText: 'stopped' }).waitFor();
    }
    // Steps of such an index end too.
    await playground.tab('steps');
    await page.click('#step-load');
    await page.locator('#step-at', { hasText: 'then more' }).waitFor();
    await playground.write(SIMPLE);
    expect((await playground.run('page wasm')).hits).toEqual([['3', '9']]);
    await playground.close();
  });

  test('keeps the code for the next visit', { timeout: patience(120_000) }, async () => {
    const playground = await open();
    await playground.settled();
    await playground.write(SIMPLE);
    await playground.page.reload();
    await playground.status(/^simple is compiled/);
    await playground.page.evaluate('localStorage.clear()');
    await playground.close();
  });

  test('completes names and members from the types', { timeout: patience(120_000) }, async () => {
    const playground = await open();
    await playground.settled();
    const { page } = playground;
    /** Types a text in the place of all, and asks for completions at its end. */
    const ask = async (typed: string): Promise<void> => {
      await page.keyboard.press('Escape');
      await page.locator('#editor .cm-content').click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.insertText(typed.slice(0, -1));
      await page.keyboard.type(typed.slice(-1));
      await page.keyboard.press('Control+Space');
    };
    const shown = (): Promise<string[]> => page.locator('#editor .cm-completionLabel').allTextContents();
    await ask('whi');
    await expect.poll(shown).toContain('whileTrue');
    await ask('sha256.h');
    await expect.poll(shown).toContain('hash');
    await ask('index.lo.rot');
    await expect.poll(shown).toEqual(['rotl', 'rotr']);
    await playground.close();
  });
});

/** Run with MILLRACE_SCREENSHOTS=1 to make the pictures of the documents. */
test.skipIf(!executable || !process.env.MILLRACE_SCREENSHOTS)('pictures', { timeout: patience(120_000) }, async () => {
  const site = makeSite();
  const server = await serve(site.folder, () => isolated);
  const browser = await launchChromium();
  try {
    for (const colorScheme of ['light', 'dark'] as const) {
      const playground = await Playground.open(browser, `${addressOf(server)}/index.html`);
      const { page } = playground;
      await page.emulateMedia({ colorScheme });
      await playground.choose('search');
      await playground.tab('cuda');
      await page.locator('#editor .cm-line', { hasText: 'digest[0]' }).click();
      await page.keyboard.press('Home');
      await page.locator('#editor .cm-scroller').evaluate((box: { scrollLeft: number }) => {
        box.scrollLeft = 0;
      });
      const path = fileURLToPath(new URL(`../docs/img/playground-${colorScheme}.png`, import.meta.url));
      await page.screenshot({ path });
      await playground.close();
    }
  } finally {
    await browser.close();
    server.close();
    site.remove();
  }
});

if (!executable) test('the playground', ({ skip }) => skip('chromium is not installed'));

/** One hit, at index 3. */
const SIMPLE = `import { items, u32, when } from 'millrace';
const kernel = items('simple', { hit: { square: u32 } }, ({ index, emit }) => {
  when(index.lo.eq(3), () => emit({ square: index.lo.mul(index.lo) }));
});
export default { kernel, space: 10 };
`;

type Rows = readonly (readonly string[])[];

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const word = (n: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return bytes;
};

/** A number with a comma at each thousand. */
const numberIn = (text = ''): number => Number(text.replaceAll(',', ''));

/** Answers that are known from elsewhere. */
const known: Readonly<Record<string, (hits: Rows, values: Rows) => void>> = {
  // Among the numbers up to 100,000 the one with most steps is 77,031, with 350.
  collatz: (hits) => expect(hits).toContainEqual(['77030', '350']),
  search: (hits) => {
    expect(hits.length).toBeGreaterThan(0);
    for (const [index, digest] of hits)
      expect(sha256(Buffer.concat([Buffer.from('millrace'), word(Number(index))]))).toBe(digest);
  },
  generate: (_, [out = []]) => {
    const bytes = Buffer.from(Uint32Array.from(out.slice(0, 16), Number).buffer);
    expect(bytes.subarray(0, 32).toString('hex')).toBe(sha256(word(0)));
    expect(bytes.subarray(32).toString('hex')).toBe(sha256(word(1)));
  },
  rc4: (hits) => expect(hits).toEqual([[String(0x0405), String(0x0405)]]),
  // The nonce on the chain.
  block: (hits) => expect(hits).toEqual([['2083236893', '2083236893']]),
  words: (_, [out = []]) =>
    expect(Buffer.from(Uint32Array.from(out.slice(0, 3), Number).buffer).toString()).toBe('a0A\na0B\na0C\n'),
  gaps: (_, [prime = []]) => {
    const wanted = Array.from({ length: 64 }, (_, at) => {
      const n = 2n ** 127n + BigInt(2 * at + 1);
      let [power, square] = [1n, 2n];
      for (let e = n - 1n; e > 0n; e >>= 1n) {
        if (e & 1n) power = (power * square) % n;
        square = (square * square) % n;
      }
      return power === 1n ? '1' : '0';
    });
    expect(prime).toEqual(wanted);
  },
};
