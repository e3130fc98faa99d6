import { render } from 'preact';
import { takeToken } from './data/token';
import { App } from './shell/App';
import { followPrinting } from './shell/paper';
import { follow } from './store';
import './parts/parts.css';
import './shell/paper.css';
import './shell/shell.css';
import './style.css';
import { followTheme } from './theme';

// A page from disk may have no storage. The token is then left in the address.
try {
  takeToken();
} catch (err) {
  console.warn('the token is left in the address:', err);
}
followTheme();
followPrinting();
follow();
const root = document.getElementById('app');
if (root) render(<App />, root);
