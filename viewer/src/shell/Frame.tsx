// What is round every view: name of the run, navigation, selection, problems.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Pack } from '../data/pack';
import { runName } from '../data/run';
import { Later } from '../live/Later';
import { Signal, useSignal } from '../state/signal';
import { clearSelection, goTo, view as viewID } from '../store';
import { useKeys } from '../parts/keys';
import { hideTip, TooltipLayer } from '../parts/tooltip';
import { views } from '../views';
import { Banner } from './Banner';
import { Guard } from './Failure';
import { Help } from './Help';
import { SelectionBar } from './SelectionBar';
import { ThemeSwitch } from './ThemeSwitch';

const helpOpen = new Signal(false);

export function Frame({ pack }: { pack: Pack }) {
  const shown = views.filter((v) => !v.hidden?.(pack));
  const id = useSignal(viewID);
  // Of a run in progress the views of its results have nothing to show yet.
  const inProgress = pack.json.mode === 'live';
  const first = inProgress ? 'live' : 'overview';
  const view = shown.find((v) => v.id === id) ?? shown.find((v) => v.id === first);
  useKeys(
    (e) => {
      const opens = shown.find((v) => v.key === e.key);
      if (opens) goTo(opens.id);
      else if (e.key === '?') helpOpen.value = !helpOpen.value;
      else if (e.key === 'Escape' && helpOpen.value) helpOpen.value = false;
      else if (e.key === 'Escape') clearSelection();
      else return false;
      return true;
    },
    { dialogs: true },
  );
  useEffect(() => hideTip, [view]);
  // On a narrow page the views' names are more than it is wide.
  const nav = useRef<HTMLElement>(null);
  useLayoutEffect(() => nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [view]);
  useLayoutEffect(() => {
    document.title = `${view?.title ?? ''} · ${runName(pack)} · moriens`;
  }, [pack, view]);
  const help = useSignal(helpOpen);
  return (
    <div class="frame">
      <header>
        <a class="skip" href="#main" onClick={skip}>
          Skip to the view
        </a>
        <h1 title={runName(pack)}>
          <span class="mark">moriens</span> <span class="run">{runName(pack)}</span>
        </h1>
        <nav ref={nav} aria-label="Views">
          {shown.map((v) => (
            <button
              key={v.id}
              type="button"
              aria-current={v === view ? 'page' : undefined}
              aria-keyshortcuts={v.key}
              title={`${v.title} (key ${v.key})`}
              onClick={() => goTo(v.id)}
            >
              {v.title}
            </button>
          ))}
        </nav>
        <div class="tools">
          <ThemeSwitch />
          <button type="button" class="icon" title="Keys and help (key ?)" aria-label="Keys and help" aria-keyshortcuts="?" onClick={() => (helpOpen.value = true)}>
            ?
          </button>
        </div>
      </header>
      <Banner pack={pack} />
      <SelectionBar pack={pack} />
      <main id="main" tabIndex={-1} aria-label={view?.title}>
        {view ? (
          <Guard key={view.id} title={view.title}>
            {inProgress && !view.inProgress ? <Later /> : <view.component />}
          </Guard>
        ) : null}
      </main>
      {help ? <Help views={shown} close={() => (helpOpen.value = false)} /> : null}
      <TooltipLayer />
    </div>
  );
}

function skip(e: Event): void {
  // The part of the address behind "#" is the page's state.
  e.preventDefault();
  document.getElementById('main')?.focus();
}
