import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Checks of a page that hold for every page: names, contrast, width, keyboard. */

/** Roles that people use or that have a meaning of their own. Each such part must have a name. */
const NAMED = new Set([
  ...['button', 'link', 'textbox', 'searchbox', 'combobox', 'spinbutton', 'tab', 'tabpanel', 'radio', 'checkbox'],
  ...['img', 'region', 'tablist', 'progressbar', 'navigation'],
]);

interface AccessibleNode {
  readonly ignored: boolean;
  readonly role?: { readonly value: string };
  readonly name?: { readonly value: string };
}

/** Every part in the browser's accessibility tree has a name; returns how many there are of each role. */
export async function expectNames(page: Page): Promise<Record<string, number>> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as unknown as { nodes: AccessibleNode[] };
  await session.detach();
  const parts = nodes.filter(({ ignored, role }) => !ignored && NAMED.has(role?.value ?? ''));
  expect(parts.filter(({ name }) => (name?.value ?? '').trim() === '').map(({ role }) => role?.value)).toEqual([]);
  const counts: Record<string, number> = {};
  for (const { role } of parts) counts[role?.value ?? ''] = (counts[role?.value ?? ''] ?? 0) + 1;
  return counts;
}

/** Nothing is wider than the window, except in boxes that scroll by themselves. Charts take a new width a moment later. */
export async function expectFits(page: Page): Promise<void> {
  await expect
    .poll(() => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'))
    .toBeLessThanOrEqual(0);
}

/** WCAG 2.2 AA: text has a contrast of at least 4.5 to what is behind it. Controls that are disabled are exempt. */
export async function expectContrast(page: Page): Promise<void> {
  const faint = `(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((one) => {
        const part = one / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const parentOf = (element) => element.parentElement ?? element.getRootNode().host;
    const behind = (element) => {
      for (let at = element; at; at = parentOf(at)) {
        const colour = rgba(getComputedStyle(at).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return [255, 255, 255, 255];
    };
    const all = (root) => [...root.querySelectorAll('*')].flatMap((one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
    return all(document).flatMap((element) => {
      const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join('');
      const isShown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (text === '' || !isShown || element.closest(':disabled') || element.closest('.hidden, option, title')) return [];
      const [front, back] = [rgba(getComputedStyle(element).color), behind(element)].map(luminance);
      const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
      return ratio < 4.5 ? [text.slice(0, 40) + ': ' + ratio.toFixed(2)] : [];
    });
  })()`;
  await expect.poll(() => page.evaluate(faint)).toEqual([]);
}

/** Presses Tab until the focus returns to where it began; returns the names of what had it, each with a visible mark. */
export async function tabOrder(page: Page, max = 80): Promise<string[]> {
  const visited: string[] = [];
  for (let presses = 0; presses < max; presses++) {
    await page.keyboard.press('Tab');
    const { name } = await focused(page);
    if (name === '') break;
    // CodeMirror marks its focus a moment later.
    await expect
      .poll(async () => (await focused(page)).isMarked, { message: `the focus on "${name}" is visible` })
      .toBe(true);
    visited.push(name);
  }
  return visited;
}

/** Presses Tab until a part with this name has the focus. */
export async function tabTo(page: Page, name: RegExp, max = 80): Promise<void> {
  for (let presses = 0; presses < max; presses++) {
    await page.keyboard.press('Tab');
    if (name.test((await focused(page)).name)) return;
  }
  throw new Error(`Tab does not reach ${String(name)}`);
}

/** What has the focus: its name, empty if nothing has it, and whether one can see that. */
const focused = (page: Page): Promise<{ readonly name: string; readonly isMarked: boolean }> =>
  page.evaluate(`(() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    if (!at || at === document.body) return { name: '', isMarked: true };
    const label = at.ariaLabel ?? at.labels?.[0]?.textContent ?? at.placeholder ?? at.textContent ?? '';
    const name = (label || at.textContent || at.id).trim().slice(0, 60);
    // The editor's mark is around its lines and their numbers.
    const boxes = [at, at.parentElement, at.parentElement?.parentElement].filter(Boolean);
    return { name, isMarked: boxes.some((one) => getComputedStyle(one).outlineStyle !== 'none') };
  })()`);
