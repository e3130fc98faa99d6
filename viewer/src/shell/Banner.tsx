// What could not be read, and how coarse the page is.
import type { Pack } from '../data/pack';
import { plural } from '../format';

export function Banner({ pack }: { pack: Pack }) {
  const { problems, manifest, resolution } = pack.json;
  const said = manifest?.empty ? [`There is no burst in this run: ${manifest.empty}`, ...problems] : problems;
  return (
    <>
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
