// What waits are shown of: one choice for all views, kept in the address.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { scopesOf, type Scope } from '../data/waits';
import { useParam } from '../store';

// useScope is the scope that is chosen; null: no waits are known.
export function useScope(): { readonly scope: Scope | null; readonly scopes: readonly Scope[]; readonly choose: (key: string) => void } {
  const { waits } = usePack().json;
  const scopes = useMemo(() => scopesOf(waits), [waits]);
  const [key, choose] = useParam('waits', scopes[0]?.key ?? '');
  return { scope: scopes.find((s) => s.key === key) ?? scopes[0] ?? null, scopes, choose };
}

export function ScopeField() {
  const { scope, scopes, choose } = useScope();
  if (!scope || scopes.length < 2) return null;
  return (
    <label class="field">
      Within
      <select class="waits-of" value={scope.key} onChange={(e) => choose(e.currentTarget.value)}>
        {scopes.map((s) => (
          <option key={s.key} value={s.key} title={s.says}>
            {s.title}
          </option>
        ))}
      </select>
    </label>
  );
}
