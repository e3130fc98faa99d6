// A table of waits.json: its first rows, all at a click; a row that stands for ranks or a cluster selects them.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count, percent, seconds } from '../format';
import { Heads } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';

const ROWS = 10;

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
  readonly note?: ComponentChildren;
  readonly tools?: ComponentChildren;
  readonly before?: ComponentChildren;
  readonly fields: readonly Field<R>[];
  readonly rows: readonly R[];
  readonly total?: number; // that there are, of which the file has the rows,
  readonly rest?: number; // and the seconds of the others
  readonly chosen?: (row: R) => boolean;
  readonly pick?: (row: R) => void;
  readonly empty: string;
}

export function Listing<R>({ title, name, note, tools, before, fields, rows, total, rest, chosen, pick, empty }: Props<R>) {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, ROWS);
  const csv = () => ({ columns: fields.map((f) => f.csv), rows: rows.map((r) => fields.map((f) => f.value(r))) });
  return (
    <Panel
      title={title}
      note={note}
      class={`listing-${name}`}
      tools={
        <>
          {tools}
          {rows.length > 0 ? <SaveTools name={`waits, ${name}`} table={csv} /> : null}
        </>
      }
    >
      {before}
      {rows.length === 0 ? (
        <p class="note">{empty}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            <Heads of={fields.map((f) => ({ title: f.title, says: f.says, class: f.words ? '' : 'n' }))} />
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
      {rows.length > ROWS ? (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `The first ${ROWS} only` : `All ${count(rows.length)} rows`}
        </button>
      ) : null}
      {total !== undefined && total > rows.length ? (
        <p class="note">
          {count(total)} in all; here are the {count(rows.length)} largest{rest === undefined ? '' : `, the others have ${seconds(rest)} together`}. waits.parquet has all of them.
        </p>
      ) : null}
    </Panel>
  );
}

const classOf = <R,>(f: Field<R>) => [f.words ? '' : 'n', f.class ?? ''].join(' ').trim();

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
