import { colourOf } from '../palette';
import { useTheme } from '../theme';

// A Swatch is the colour of a cluster; what it is must be said beside it.
export function Swatch({ id }: { id: number }) {
  const theme = useTheme();
  return (
    <svg class="swatch" viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      <rect width="10" height="10" rx="2" fill={colourOf(id, theme)} />
    </svg>
  );
}
