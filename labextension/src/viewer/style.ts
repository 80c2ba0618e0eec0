/** How does the DOM around the canvases look? One sheet, adopted by the shadow root, so that nothing leaks in or out. */

export const STYLE = `
:host { all: initial; display: block; height: 100%; container-type: size; }
* { box-sizing: border-box; }
.root {
  display: grid; height: 100%; min-height: 300px; grid: 'head head' auto 'side main' minmax(0, 1fr) / clamp(260px, 27%, 400px) minmax(0, 1fr);
  font: 12.5px/1.45 system-ui, -apple-system, 'Segoe UI', sans-serif; font-variant-numeric: tabular-nums; color: var(--ink); background: var(--background);
  outline: none; overflow: hidden;
}
header { grid-area: head; display: flex; flex-wrap: wrap; align-items: center; gap: 2px 20px; padding: 7px 14px; border-bottom: 1px solid var(--line); }
.headline { display: flex; align-items: baseline; gap: 16px; white-space: nowrap; }
.headline .label { font-size: 14px; overflow: hidden; text-overflow: ellipsis; max-width: 30ch; }
.figure { color: var(--muted); } .figure b { color: var(--ink); font-weight: 600; }
.status { color: var(--muted); flex: 1 1 auto; }
.tools { display: flex; gap: 8px; align-items: center; margin-left: auto; }
.badge { border: 1px solid currentColor; color: var(--alarm); border-radius: 3px; padding: 0 6px; margin-right: 8px; font-weight: 600; font-size: 11.5px; }
.alarm { color: var(--alarm); }
.quiet { color: var(--muted); font-weight: 400; }
.side { grid-area: side; overflow: auto; border-right: 1px solid var(--line); }
.main { grid-area: main; display: grid; grid-template-rows: 48px minmax(60px, auto) minmax(110px, 1fr) minmax(0, 38%); min-width: 0; min-height: 0; }
.main.bare { grid-template-rows: 48px minmax(60px, auto) minmax(0, 1fr); }
canvas { display: block; width: 100%; }
canvas:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.ruler { height: 48px; cursor: crosshair; }
.lanes { overflow: hidden auto; max-height: var(--lanes); min-height: 60px; position: relative; }
.lanes .sheet { position: relative; }
.lanes canvas { position: sticky; top: 0; touch-action: pan-y; }
.memory { height: 100%; min-height: 0; border-top: 1px solid var(--line); }
.panel { border-top: 1px solid var(--line); display: grid; grid-template-rows: auto minmax(0, 1fr); min-height: 0; }
[role=tablist] { display: flex; gap: 2px; padding: 0 10px; border-bottom: 1px solid var(--line); background: var(--panel); }
[role=tab] { border: 0; background: none; color: var(--muted); padding: 5px 10px; border-bottom: 2px solid transparent; border-radius: 0; }
[role=tab][aria-selected=true] { color: var(--ink); border-bottom-color: var(--accent); }
[role=tab] kbd { opacity: .55; margin-left: 5px; font-size: 10.5px; border: 0; padding: 0; background: none; }
[role=tabpanel] { overflow: auto; padding: 10px 14px; min-height: 0; }
[role=tabpanel]:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
button, select, input { font: inherit; color: inherit; }
button { border: 1px solid var(--faint); border-radius: 4px; background: var(--background); padding: 2px 9px; cursor: pointer; }
button:hover { border-color: var(--muted); }
button:focus-visible, select:focus-visible, input:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
button[aria-pressed=true] { background: var(--accent); color: var(--background); border-color: var(--accent); }
input[type=search] { width: 150px; padding: 2px 8px; border: 1px solid var(--faint); border-radius: 4px; background: var(--background); }
select { border: 1px solid var(--faint); border-radius: 4px; background: var(--background); padding: 1px 4px; }
button.link { border: 0; background: none; padding: 0; color: var(--accent); text-align: left; overflow-wrap: anywhere; }
button.link:hover { text-decoration: underline; }
h2 { font-size: 12.5px; font-weight: 600; margin: 10px 14px 6px; display: flex; justify-content: space-between; }
h3 { font-size: 13.5px; font-weight: 600; margin: 0 0 6px; overflow-wrap: anywhere; }
h4 { font-size: 12.5px; font-weight: 600; margin: 10px 0 3px; } h4:first-child { margin-top: 0; }
p { margin: 6px 0; overflow-wrap: anywhere; }
.empty { color: var(--muted); margin: 12px 14px; }
ol, ul { list-style: none; margin: 0; padding: 0; }
.finding { position: relative; border-top: 1px solid var(--line); }
.finding .bar { position: absolute; inset: 0 auto auto 0; height: 3px; min-width: 3px; background: var(--kind-call); }
.finding.high .bar { background: var(--kind-sync); } .finding.medium .bar { background: var(--kind-pullback); } .finding.harmless .bar { background: var(--faint); }
.finding .head { all: unset; box-sizing: border-box; display: grid; grid-template-columns: minmax(0, 1fr); width: 100%; padding: 9px 14px 8px; cursor: pointer; }
.finding .head:hover { background: var(--panel); }
.finding .head:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
.finding .title { font-weight: 600; overflow-wrap: anywhere; }
.finding .cost { font-weight: 600; order: -1; } .finding.high .cost { color: var(--alarm); } .finding.harmless .cost, .finding.low .cost { color: var(--muted); }
.finding .where { color: var(--muted); overflow-wrap: anywhere; }
.finding.chosen { background: var(--panel); }
.finding .body { padding: 0 14px 12px; }
.finding .body p { margin: 0 0 8px; }
.code { margin: 0 0 6px; padding: 5px 8px; background: var(--background); border: 1px solid var(--line); border-left: 3px solid var(--faint); border-radius: 3px; overflow-x: auto; font: 11.5px/1.5 ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; }
.code code { display: block; font: inherit; white-space: pre; }
.code.before { border-left-color: var(--kind-sync); } .code.after { border-left-color: var(--kind-accumulate); }
.code.before code::before { content: '− '; color: var(--kind-sync); } .code.after code::before { content: '+ '; color: var(--kind-accumulate); }
.actions { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
.details { display: flex; gap: 12px 36px; flex-wrap: wrap; align-items: flex-start; }
.details .column { flex: 1 1 280px; min-width: 0; max-width: 640px; } .details .wide { flex: 1 1 100%; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 1px 14px; margin: 0; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
.verb { display: inline-block; min-width: 4.5em; color: var(--muted); }
.rows { border-collapse: collapse; width: 100%; }
.rows td, .rows th { padding: 1px 10px 1px 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
.rows th { color: var(--muted); font-weight: 400; position: sticky; top: -10px; background: var(--background); padding-bottom: 3px; }
.rows th button { border: 0; background: none; padding: 0; }
.rows tbody tr:hover { background: var(--panel); }
.rows .n, .lines .n { text-align: right; white-space: nowrap; }
.rows.totals { width: auto; margin-bottom: 14px; } .rows.totals td { padding-right: 22px; }
.better { color: var(--kind-accumulate); } .worse { color: var(--alarm); }
.verdict { color: var(--muted); } .verdict.new, .verdict.slower, .verdict.larger { color: var(--alarm); } .verdict.gone, .verdict.faster, .verdict.smaller { color: var(--kind-accumulate); }
.dot { display: inline-block; width: 8px; height: 8px; border-radius: 2px; margin-right: 7px; }
.bar-row { display: flex; gap: 14px; align-items: center; flex-wrap: wrap; margin-bottom: 8px; } .bar-row label { color: var(--muted); } .sum { font-weight: 600; }
.lines { border-collapse: collapse; width: 100%; margin-bottom: 18px; }
.lines caption { text-align: left; font-weight: 600; padding-bottom: 4px; overflow-wrap: anywhere; }
.lines th { color: var(--muted); font-weight: 400; padding: 0 8px; }
.lines td { padding: 0 8px; } .lines td.text { width: 100%; } .lines td.heat { min-width: 76px; }
.lines code { font: 12px/1.6 ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; white-space: pre; }
.lines tr.hot { cursor: pointer; } .lines tr.hot:hover, .lines tr.chosen { background: var(--panel); } .lines tr.chosen td.text { box-shadow: inset 3px 0 var(--accent); }
.graph .node { cursor: pointer; } .graph .node rect { fill: var(--panel); stroke: var(--faint); } .graph .node.centre rect { stroke: var(--accent); stroke-width: 2; }
.graph text { font-size: 11px; fill: var(--ink); } .graph text.quiet { fill: var(--muted); } .graph svg { display: block; }
.graph .edge { fill: none; stroke: var(--muted); stroke-width: 1.2; } .graph .edge.saved { stroke-dasharray: 5 3; } .graph .edge.view { stroke-dasharray: 1.5 3; } .graph .edge.backward { stroke: var(--kind-pullback); }
.tip { position: fixed; top: 0; left: 0; z-index: 10; pointer-events: none; max-width: 420px; padding: 5px 9px; border-radius: 4px; background: var(--ink); color: var(--background); font-size: 12px; overflow-wrap: anywhere; }
.tip[hidden] { display: none; } .tip div:first-child { font-weight: 600; }
.help { border: 1px solid var(--faint); border-radius: 8px; background: var(--background); color: var(--ink); padding: 16px 22px; box-shadow: 0 8px 40px #0004; }
.help[open] { display: flex; gap: 8px 36px; flex-wrap: wrap; max-width: 760px; } .help form { flex-basis: 100%; text-align: right; }
.help td { padding: 2px 8px 2px 0; vertical-align: top; }
kbd { font: 11px ui-monospace, 'DejaVu Sans Mono', monospace; border: 1px solid var(--faint); border-radius: 3px; padding: 0 5px; margin-right: 3px; background: var(--panel); white-space: nowrap; }
.twin { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.message { padding: 24px; max-width: 60ch; } .message b { display: block; margin-bottom: 4px; }
@container (max-width: 760px) {
  .root { grid: 'head' auto 'side' minmax(80px, 30%) 'main' minmax(0, 1fr) / minmax(0, 1fr); }
  .side { border-right: 0; border-bottom: 1px solid var(--line); }
}
`;
