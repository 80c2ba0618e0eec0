/** How does one get from a place in a profile to the cell and line in the notebook? */

import { NotebookPanel } from '@jupyterlab/notebook';
import { str, Trace } from '../viewer/trace.js';
import { cellBody, profiledBody } from './source.js';

export interface Place {
  file: string;
  line: number;
  cell: number;
}

export function placeOf(trace: Trace, site: number): Place | null {
  if (site < 0) return null;
  const { file_str, line, cell } = trace.sites;
  return { file: str(trace, file_str[site]), line: line[site], cell: cell[site] };
}

/** Scrolls to the cell that has this source, else to the one with this execution count; false when there is none. */
export async function goTo(panel: NotebookPanel, place: Place, source: string | undefined): Promise<boolean> {
  const cells = panel.content.widgets;
  const ran = source === undefined ? null : profiledBody(source);
  let index = cells.findIndex(cell => cellBody(cell.model.sharedModel.getSource()).text === ran?.text);
  if (index < 0 && place.cell >= 0)
    index = cells.findIndex(
      cell => cell.model.type === 'code' && (cell.model as { executionCount?: number }).executionCount === place.cell
    );
  if (index < 0) return false;
  const cell = cells[index];
  panel.content.activeCellIndex = index;
  await panel.content.scrollToItem(index, 'smart');
  const line = place.line - 1 - (ran?.offset ?? 0) + cellBody(cell.model.sharedModel.getSource()).offset;
  cell.editor?.setCursorPosition({ line, column: 0 });
  cell.editor?.revealPosition({ line, column: 0 });
  return true;
}
