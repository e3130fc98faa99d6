// Where the page's pack comes from: report.html carries it, a server gives it.
import { loadBins, loadPack, PackError, type Bins, type Pack } from './pack';
import { token } from './token';

export async function findPack(): Promise<Pack> {
  const embedded = document.getElementById('pack');
  if (embedded) return loadPack(await unzip(decodeBase64(embedded.textContent)));
  if (location.protocol === 'file:') {
    throw new PackError('This page contains no data.', 'Open report.html of a run directory, or run moriens view DIR.');
  }
  return loadPack(await fetchBytes(withToken('pack')));
}

// What a page asks its server for: threads from the first to the last, a time, ns, and how many rows and bins it has
// pixels for.
export interface Part {
  readonly first: number;
  readonly last: number;
  readonly from: number;
  readonly to: number;
  readonly rows: number;
  readonly bins: number;
}

export async function fetchBins(part: Part, signal: AbortSignal): Promise<Bins> {
  const url = new URL(withToken('bins'));
  for (const [name, value] of Object.entries(part)) url.searchParams.set(name, `${value as number}`);
  return loadBins(await fetchBytes(url.toString(), signal));
}

async function fetchBytes(url: string, signal: AbortSignal | null = null): Promise<Uint8Array<ArrayBuffer>> {
  let answer: Response;
  try {
    answer = await fetch(url, { cache: 'no-store', signal });
  } catch {
    throw new PackError('The server no longer answers.', 'Start moriens view DIR again, and open the address that it prints.');
  }
  if (answer.status === 401 || answer.status === 403) {
    throw new PackError('This address lacks the token that opens the page, or has an old one.', 'Open the whole address that moriens printed, with ?token=… at its end.');
  }
  if (!answer.ok) {
    const said = (await answer.text()).trim().slice(0, 1000);
    throw new PackError(said || `The server answered ${answer.status}.`, '');
  }
  return unzip(new Uint8Array(await answer.arrayBuffer()));
}

// withToken makes the address of something that the page's own server has.
export function withToken(path: string): string {
  const url = new URL(path, location.href.replace(/[?#].*$/, ''));
  const t = token();
  if (t) url.searchParams.set('token', t);
  return url.toString();
}

function decodeBase64(said: string): Uint8Array<ArrayBuffer> {
  const clean = said.replace(/\s+/g, '');
  if (clean === '') throw new PackError('This page contains no data.', 'moriens report DIR writes it again.');
  try {
    const binary = atob(clean);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw new PackError('The data of this page are damaged: they are not base64.', 'Copy the file again, or rewrite it: moriens report DIR.');
  }
}

// unzip decompresses gzip and passes on anything else: the browser decompresses where the server says so.
async function unzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new PackError('The data of this page are damaged or cut off.', 'Copy the file again, or rewrite it: moriens report DIR.');
  }
}
