// The whole page: it looks for its pack, says what is wrong with it, or shows it.
import { useEffect, useState } from 'preact/hooks';
import { PackContext } from '../data/context';
import { PackError, type Pack } from '../data/pack';
import { findPack } from '../data/source';
import { takeColours } from '../palette';
import { Failure } from './Failure';
import { Frame } from './Frame';

type Found = { pack: Pack } | { error: PackError } | null;

export function App() {
  const [found, setFound] = useState<Found>(null);
  useEffect(() => {
    findPack().then(
      (pack) => {
        takeColours(pack.json.clusters?.clusters ?? []);
        setFound({ pack });
      },
      (err: unknown) => setFound({ error: err instanceof PackError ? err : new PackError(`The page cannot be shown: ${String(err)}`) }),
    );
  }, []);
  if (!found) {
    return (
      <p class="loading" role="status">
        Reading the run …
      </p>
    );
  }
  if ('error' in found) return <Failure message={found.error.message} hint={found.error.hint} />;
  return (
    <PackContext.Provider value={found.pack}>
      <Frame pack={found.pack} />
    </PackContext.Provider>
  );
}
