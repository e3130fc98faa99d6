// What is in the run directory, and what opens it.
import { usePack } from '../data/context';
import { FileTable } from './files/FileTable';
import { Opening } from './files/Opening';
import './files/files.css';

export function Files() {
  const pack = usePack();
  return (
    <div class="files">
      <FileTable pack={pack} />
      <Opening pack={pack} />
    </div>
  );
}
