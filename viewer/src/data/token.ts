// The token that opens the page's server. It is removed from the address bar, so that nobody copies it by accident, and
// kept in this tab, so that a reload works.
const KEY = 'moriens-token';

export function takeToken(): void {
  const url = new URL(location.href);
  const t = url.searchParams.get('token');
  if (t === null) return;
  sessionStorage.setItem(KEY, t);
  url.searchParams.delete('token');
  history.replaceState(history.state, '', url);
}

export function token(): string {
  // On file: a browser may refuse to give storage; there is no server either.
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}
