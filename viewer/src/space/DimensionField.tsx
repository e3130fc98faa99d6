import { usePack } from '../data/context';
import type { Scale } from './axis';
import type { Shown } from './dimensions';

// DimensionField chooses what an axis shows, and its scale.
export function DimensionField({ label, dimension, say }: { label: string; dimension: Shown; say: (said: string) => void }) {
  const pack = usePack();
  const known = pack.json.dimensions.filter((d) => pack.has(d.column));
  return (
    <span class="dimension">
      <label class="field">
        {label}
        <select
          value={dimension.name}
          onChange={(e) => {
            const d = known.find((d) => d.name === e.currentTarget.value);
            if (d) say(`${d.name}:${d.scale === 'log' ? 'log' : 'lin'}`);
          }}
        >
          {known.map((d) => (
            <option key={d.name} value={d.name}>
              {d.name}
            </option>
          ))}
        </select>
      </label>
      <select aria-label={`Scale of ${dimension.name}`} value={dimension.scale} onChange={(e) => say(`${dimension.name}:${e.currentTarget.value as Scale}`)}>
        <option value="lin">linear</option>
        <option value="log">log</option>
      </select>
    </span>
  );
}
