// The part of the run that factors are of: one choice for all views, kept in the address.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { partsOf, type Part } from '../data/efficiency';
import { useParam } from '../store';

// usePart is the part that is chosen; null: the page has no efficiency.
export function usePart(): { readonly part: Part | null; readonly parts: readonly Part[]; readonly choose: (key: string) => void } {
  const { efficiency } = usePack().json;
  const parts = useMemo(() => (efficiency ? partsOf(efficiency) : []), [efficiency]);
  const [key, choose] = useParam('within', parts[0]?.key ?? '');
  return { part: parts.find((p) => p.key === key) ?? parts[0] ?? null, parts, choose };
}

export function Within() {
  const { part, parts, choose } = usePart();
  if (!part || parts.length < 2) return null;
  return (
    <label class="field">
      Within
      <select class="within" value={part.key} onChange={(e) => choose(e.currentTarget.value)}>
        {parts.map((p) => (
          <option key={p.key} value={p.key}>
            {p.title}
          </option>
        ))}
      </select>
    </label>
  );
}
