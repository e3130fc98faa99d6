// The keys, of the page and of the view that is shown.
import { useEffect, useRef } from 'preact/hooks';
import { keysOf } from '../parts/keys';
import type { Name } from '../views/names';

export function Help({ views, close }: { views: readonly Name[]; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const page: readonly [string, string][] = [
    ...views.map((v): [string, string] => [v.key, v.title]),
    ['Esc', 'lift the selection'],
    ['?', 'this list'],
  ];
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close} onClick={(e) => e.target === dialog.current && close()}>
      <div>
        <h2 id="help-title">Keys</h2>
        <Keys keys={page} />
        {keysOf().map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <Keys keys={keys} />
          </section>
        ))}
        <p>
          Click a cluster, a rank or a stretch of time in any view and all views show it. The address holds the selection: a copied link shows the same.
        </p>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}

function Keys({ keys }: { keys: readonly (readonly [string, string])[] }) {
  return (
    <dl class="keys">
      {keys.map(([key, does]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
