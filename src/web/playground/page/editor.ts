import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { CodeFault } from '../messages.js';
import { type CompletionData, completionSource } from './completion.js';

/** Views of text, built on CodeMirror: the editor, and texts that are only read. Both can mark rows. */
export interface TextView {
  readonly view: EditorView;
  /** Marks these rows, from 1. `scroll` brings the first into view. */
  mark(rows: ReadonlySet<number>, scroll?: boolean): void;
  /** Replaces the text. */
  set(text: string): void;
}

export interface EditorOptions {
  readonly text: string;
  readonly completion: () => Promise<CompletionData>;
  readonly onChange: (text: string) => void;
  /** The row of the cursor has changed. */
  readonly onRow: (row: number) => void;
}

export function createEditor(host: HTMLElement, { text, completion, onChange, onRow }: EditorOptions): TextView {
  return create(host, 'the kernel', text, [
    history(),
    indentOnInput(),
    closeBrackets(),
    bracketMatching(),
    javascript({ typescript: true }),
    autocompletion({ override: [completionSource(completion)] }),
    lintGutter(),
    keymap.of([...closeBracketsKeymap, ...historyKeymap, ...completionKeymap]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
    rowListener(onRow),
  ]);
}

export function createReader(host: HTMLElement, label: string, onRow: (row: number) => void): TextView {
  return create(host, label, '', [EditorState.readOnly.of(true), rowListener(onRow)]);
}

/** Shows a mistake at its place; undefined shows none. */
export function showFault({ view }: TextView, fault: CodeFault | undefined): void {
  const { doc } = view.state;
  if (fault?.row === undefined || fault.row < 1 || fault.row > doc.lines) {
    view.dispatch(setDiagnostics(view.state, []));
    return;
  }
  const line = doc.line(fault.row);
  const from = Math.min(line.to, line.from + Math.max(0, (fault.column ?? 1) - 1));
  const to = Math.max(from, line.to);
  view.dispatch(setDiagnostics(view.state, [{ from, to, severity: 'error', message: fault.message }]));
}

function create(host: HTMLElement, label: string, text: string, extensions: readonly Extension[]): TextView {
  // In a shadow tree the styles of CodeMirror are style sheets of their own, which a policy without inline styles permits.
  const root = host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    doc: text,
    extensions: [
      lineNumbers(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      drawSelection(),
      highlightSelectionMatches(),
      syntaxHighlighting(colours),
      keymap.of([...defaultKeymap, ...searchKeymap]),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      marks,
      theme,
      ...extensions,
    ],
  });
  return {
    view,
    mark: (rows, scroll = false) => {
      const [first] = rows;
      const { doc } = view.state;
      const effects: StateEffect<unknown>[] = [setMarks.of(rows)];
      if (scroll && first !== undefined && first >= 1 && first <= doc.lines)
        effects.push(EditorView.scrollIntoView(doc.line(first).from, { y: 'center' }));
      view.dispatch({ effects });
    },
    set: (next) => {
      if (view.state.doc.toString() === next) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 } });
    },
  };
}

function rowListener(onRow: (row: number) => void): Extension {
  return EditorView.updateListener.of(({ state, startState, selectionSet, docChanged }) => {
    if (!selectionSet || docChanged) return;
    const row = state.doc.lineAt(state.selection.main.head).number;
    if (row !== startState.doc.lineAt(startState.selection.main.head).number) onRow(row);
  });
}

const setMarks = StateEffect.define<ReadonlySet<number>>();

const marked = Decoration.line({ class: 'marked' });

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (before, { effects, docChanged, state }) => {
    const [effect] = effects.filter((one) => one.is(setMarks)).slice(-1);
    if (!effect) return docChanged ? Decoration.none : before;
    const builder = new RangeSetBuilder<Decoration>();
    for (const row of [...effect.value].sort((a, b) => a - b)) {
      if (row < 1 || row > state.doc.lines) continue;
      const { from } = state.doc.line(row);
      builder.add(from, from, marked);
    }
    return builder.finish();
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The colours are those of the page, by its custom properties, which reach into a shadow tree. */
const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--panel)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--dim)', backgroundColor: 'var(--panel)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 25%, transparent)',
  },
  '.cm-line.marked': { backgroundColor: 'color-mix(in srgb, var(--warn) 22%, transparent)' },
  '.cm-tooltip, .cm-panels': { color: 'var(--text)', backgroundColor: 'var(--panel)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--panel)' },
  '.cm-completionInfo': { maxWidth: '32rem', whiteSpace: 'pre-wrap' },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: 'var(--keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--number)' },
  { tag: tags.comment, color: 'var(--dim)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.className], color: 'var(--type)' },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--call)' },
]);
