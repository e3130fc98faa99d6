import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Pack } from './pack';

export const PackContext = createContext<Pack | null>(null);

export function usePack(): Pack {
  const pack = useContext(PackContext);
  if (!pack) throw new Error('no pack here');
  return pack;
}
