// The call paths round the bursts of a cluster: the MPI calls that end before they begin, and those that begin when
// they end.
import { useState } from 'preact/hooks';
import type { CallPath } from '../data/clusters';
import { count, percent } from '../format';
import { Panel } from '../parts/Panel';

const FIRST = 4;
const MOST = 10; // whole call paths that a cluster has for each side: there may be others

const lineOf = ({ file, line }: { file: string; line: number }) => `${file}${line > 0 ? `:${line}` : ''}`;

// A frame of a trace that others wrote has no module and no offset.
function where(f: CallPath['frames'][number]): string {
  if (f.file) return lineOf(f);
  return f.offset ? `${f.module}+${f.offset}` : f.module;
}

const sum = (paths: readonly CallPath[]) => paths.reduce((n, p) => n + p.bursts, 0);

// Call paths where they are known, with what other ones have; else places.
export function Paths({ title, places, paths: whole }: { title: string; places: readonly CallPath[]; paths: readonly CallPath[] }) {
  const [all, setAll] = useState(false);
  const paths = whole.length > 0 ? whole : places;
  const total = Math.max(sum(paths), whole.length >= MOST ? sum(places) : 0);
  const others = total - sum(paths);
  const shown = all ? paths : paths.slice(0, FIRST);
  return (
    <Panel title={title} note={paths.length === 0 ? 'not known' : undefined}>
      <ul class="paths">
        {shown.map((p, i) => (
          <li key={`${i} ${p.name}`}>
            <details>
              <summary>
                <code>{p.name}</code>
                <span class="n">
                  {count(p.bursts)} · {percent(p.bursts / total)}
                </span>
              </summary>
              {p.frames.length === 0 ? <p class="note">Of the places that called it nothing is known.</p> : null}
              <ol>
                {p.frames.map((f, k) => (
                  <li key={k}>
                    {f.function || '?'} <span class="where">{where(f)}</span>
                    {/* The function round it first, the outermost last. */}
                    {f.inlined.toReversed().map((s, j) => (
                      <div key={j} class="inlined">
                        inlined in {s.function || '?'} {s.file ? <span class="where">{lineOf(s)}</span> : null}
                      </div>
                    ))}
                  </li>
                ))}
              </ol>
            </details>
          </li>
        ))}
      </ul>
      {others > 0 && (all || paths.length <= FIRST) ? (
        <p class="note">
          {count(others)} bursts · {percent(others / total)} by other call paths
        </p>
      ) : null}
      {paths.length > FIRST ? (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `All ${count(paths.length)}`}
        </button>
      ) : null}
    </Panel>
  );
}
