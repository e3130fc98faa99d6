// What the data say, in sentences; each leads to where it shows.
import { useMemo } from 'preact/hooks';
import { findings } from '../../data/findings';
import type { Pack } from '../../data/pack';
import { Empty, Panel } from '../../parts/Panel';
import { Swatch } from '../../parts/Swatch';
import { goTo } from '../../store';
import { names } from '../names';

export function Findings({ pack }: { pack: Pack }) {
  const found = useMemo(() => findings(pack), [pack]);
  const there = new Map<string, string>(names.filter((v) => !v.hidden?.(pack)).map((v) => [v.id, v.title]));
  return (
    <Panel title="What stands out">
      {found.length === 0 ? <Empty>There is nothing to say of a run without bursts.</Empty> : null}
      <ul class="findings">
        {found.map(({ text, show, cluster }) => {
          const title = show && there.get(show.view);
          return (
            <li key={text}>
              <span class="finding-mark">{cluster === undefined ? null : <Swatch id={cluster} />}</span>
              <span>
                {text}{' '}
                {title ? (
                  <button type="button" class="link" onClick={() => goTo(show.view, show.selection)}>
                    {title}
                  </button>
                ) : null}
              </span>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
