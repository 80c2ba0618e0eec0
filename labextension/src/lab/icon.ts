/** The icon of profiles: two bars of a timeline and the way back. */

import { LabIcon } from '@jupyterlab/ui-components';

export const profileIcon = new LabIcon({
  name: 'gradviz:profile',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><g class="jp-icon3" fill="#616161">
    <rect x="1" y="3" width="8" height="3" rx=".6"/><rect x="7" y="10" width="8" height="3" rx=".6"/>
    <path d="M11.5 4h1.2a1.3 1.3 0 0 1 1.3 1.3V8h1l-1.5 1.8L12 8h1V5.4a.4.4 0 0 0-.4-.4h-1.1z"/></g></svg>`
});
