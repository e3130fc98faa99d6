// What is missing of what the ranks did, what could not be read, and how coarse the page is.
import type { Pack } from '../data/pack';
import { plural } from '../format';

export function Banner({ pack }: { pack: Pack }) {
  const { problems, manifest, resolution } = pack.json;
  const incomplete = manifest?.incomplete ?? [];
  const said = manifest?.empty ? [`There is no burst in this run: ${manifest.empty}`, ...problems] : problems;
  return (
    <>
      {incomplete.length > 0 ? (
        <section class="banner" role="status" aria-label="Incomplete">
          <details open={incomplete.length <= 3}>
            <summary>This run is incomplete: {incomplete.length === 1 ? incomplete[0] : plural(incomplete.length, 'thing is missing', 'things are missing')}</summary>
            {incomplete.length > 1 ? <List said={incomplete} /> : null}
          </details>
        </section>
      ) : null}
      {said.length > 0 ? (
        <section class="banner" role="status" aria-label="Problems">
          {said.length > 3 ? (
            <details>
              <summary>{plural(said.length, 'problem')}: {said[0]}</summary>
              <List said={said.slice(1)} />
            </details>
          ) : (
            <List said={said} />
          )}
        </section>
      ) : null}
      {resolution ? <p class="resolution">{resolution}</p> : null}
    </>
  );
}

function List({ said }: { said: readonly string[] }) {
  return (
    <ul>
      {said.map((s, i) => (
        <li key={i}>{s}</li>
      ))}
    </ul>
  );
}
