// Bundles the viewer for its two hosts outside JupyterLab: the HTML report and the live widget.
import { build } from 'esbuild';

const common = { bundle: true, minify: true, target: 'es2022', legalComments: 'none', logLevel: 'info' };

await build({ ...common, entryPoints: ['src/report.ts'], format: 'iife', outfile: '../gradviz/static/report.js' });
await build({ ...common, entryPoints: ['src/widget.ts'], format: 'esm', outfile: '../gradviz/static/widget.js' });
