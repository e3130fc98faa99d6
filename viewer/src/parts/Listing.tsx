// A table of many rows: the first ones, the others at a click; a row that stands for ranks or a cluster selects them.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { count, percent, seconds } from '../format';
import { SaveTools } from '../save/SaveTools';
import { Heads, SortHead } from './Heads';
import './listings.css';
import { Panel } from './Panel';

const ROWS = 10;
const MORE = 1000; // rows that a click adds

export interface Field<R> {
  readonly title: string;
  readonly says?: string;
  readonly show: (row: R) => ComponentChildren;
  readonly words?: true; // not a number
  readonly class?: string;
  readonly hint?: (row: R) => string; // when pointed at
  readonly csv: string; // name of the column, with its unit
  readonly value: (row: R) => string | number | null;
}

interface Props<R> {
  readonly title: string;
  readonly name: string; // of files, and for tests
  readonly of: string; // the view, for files
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  readonly before?: ComponentChildren;
  readonly fields: readonly Field<R>[];
  readonly rows: readonly R[];
  readonly total?: number; // that there are, of which the file has the rows,
  readonly rest?: number; // and the seconds of the others
  readonly table?: string; // file of the run directory that has all
  readonly sortable?: boolean;
  readonly chosen?: (row: R) => boolean;
  readonly pick?: (row: R) => void;
  readonly empty: string;
}

export function Listing<R>({ title, name, of, note, tools, before, fields, rows, total, rest, table, sortable, chosen, pick, empty }: Props<R>) {
  const [most, setMost] = useState(ROWS);
  const [by, setBy] = useState('');
  const sorted = useMemo(() => inOrder(rows, fields, by), [rows, by]);
  const shown = sorted.slice(0, most);
  const csv = () => ({ columns: fields.map((f) => f.csv), rows: sorted.map((r) => fields.map((f) => f.value(r))) });
  return (
    <Panel
      title={title}
      note={note}
      class={`listing-${name}`}
      tools={
        <>
          {tools}
          {rows.length > 0 ? <SaveTools name={`${of}, ${name}`} table={csv} /> : null}
        </>
      }
    >
      {before}
      {rows.length === 0 ? (
        <p class="note">{empty}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            {sortable ? (
              <thead>
                <tr>
                  {fields.map((f) => (
                    <SortHead key={f.csv} title={f.title} says={f.says} name={f.csv} by={by} sort={setBy} right={!f.words} up={f.words ?? false} />
                  ))}
                </tr>
              </thead>
            ) : (
              <Heads of={fields.map((f) => ({ title: f.title, says: f.says, class: f.words ? '' : 'n' }))} />
            )}
            <tbody>
              {shown.map((r, i) => (
                <tr key={i} class={chosen?.(r) ? 'chosen' : ''}>
                  {fields.map((f, k) => (
                    <td key={f.csv} class={classOf(f)} title={f.hint?.(r)}>
                      {k === 0 && pick ? (
                        <button type="button" class="link name" aria-pressed={chosen?.(r) ?? false} onClick={() => pick(r)}>
                          {f.show(r)}
                        </button>
                      ) : (
                        f.show(r)
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > shown.length ? (
        <button type="button" class="quiet" aria-expanded={false} onClick={() => setMost(most - ROWS + MORE)}>
          {rows.length - shown.length > MORE ? `${count(MORE)} more of ${count(rows.length)} rows` : `All ${count(rows.length)} rows`}
        </button>
      ) : null}
      {most > ROWS && rows.length > ROWS ? (
        <button type="button" class="quiet" aria-expanded onClick={() => setMost(ROWS)}>
          The first {ROWS} only
        </button>
      ) : null}
      {total !== undefined && total > rows.length ? (
        <p class="note">
          {count(total)} in all; here are the {count(rows.length)} largest{rest === undefined ? '' : `, the others have ${seconds(rest)} together`}.{table ? ` ${table} has all of them.` : ''}
        </p>
      ) : null}
    </Panel>
  );
}

const classOf = <R,>(f: Field<R>) => [f.words ? '' : 'n', f.class ?? ''].join(' ').trim();

// inOrder sorts rows by a field; what is not known comes last.
function inOrder<R>(rows: readonly R[], fields: readonly Field<R>[], by: string): readonly R[] {
  const field = fields.find((f) => f.csv === by.replace(/^-/, ''));
  if (!field) return rows;
  const way = by.startsWith('-') ? -1 : 1;
  const known = (v: string | number | null) => (typeof v === 'number' && Number.isNaN(v) ? null : v);
  const keyed = rows.map((row, i) => ({ row, i, key: known(field.value(row)) }));
  const compare = (a: string | number, b: string | number) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true }));
  keyed.sort((a, b) => (a.key === null || b.key === null ? Number(a.key === null) - Number(b.key === null) : way * compare(a.key, b.key)) || a.i - b.i);
  return keyed.map((k) => k.row);
}

// Share shows a share, 0-1, as a bar and a figure.
export function Share({ of }: { of: number }) {
  return (
    <>
      <svg class="share" width="60" height="9" aria-hidden="true">
        <rect width={60 * Math.min(1, Math.max(0, of || 0))} height="9" />
      </svg>
      <span class="share">{percent(of)}</span>
    </>
  );
}
