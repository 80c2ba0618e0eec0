/** Which events and buffers are the neighbours of a call, and where do they stand? Layers by data flow, ordered by barycentre. */

import { Links } from '../links.js';
import { Kind, Trace, Use } from '../trace.js';

export type EdgeKind = 'data' | 'view' | 'saved' | 'backward';

export interface GraphNode {
  event: number;
  layer: number;
  x: number;
  y: number;
}

export interface GraphEdge {
  from: number;
  to: number;
  kind: EdgeKind;
  nbytes: number;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  cut: number;
}

const MAX_NODES = 36;
const HOPS = 2;
const LAYER_PX = 190;
const NODE_PX = 44;

/** The events up to two steps of data flow away, the nearest first. */
export async function neighbourhood(trace: Trace, links: Links, centre: number): Promise<Graph> {
  const layers = new Map([[centre, 0]]);
  const edges = new Map<string, GraphEdge>();
  let frontier = [centre];
  let cut = 0;
  for (let hop = 0; hop < HOPS; hop++) {
    const next: number[] = [];
    for (const event of frontier) {
      for (const edge of await edgesOf(trace, links, event)) {
        const other = edge.from === event ? edge.to : edge.from;
        if (!layers.has(other)) {
          if (layers.size >= MAX_NODES) {
            cut++;
            continue;
          }
          layers.set(other, layers.get(event)! + (edge.from === event ? 1 : -1));
          next.push(other);
        }
        edges.set(`${edge.from}>${edge.to}`, edge);
      }
    }
    frontier = next;
  }
  return { nodes: place([...layers], [...edges.values()]), edges: [...edges.values()], cut };
}

async function edgesOf(trace: Trace, links: Links, event: number): Promise<GraphEdge[]> {
  const uses = await trace.uses();
  const { nbytes, alloc_event } = trace.buffers;
  const edges: GraphEdge[] = [];
  for (const row of await links.usesOf(event)) {
    const buffer = uses.buffer[row];
    const how = uses.how[row];
    const makes = how === Use.MAKE || how === Use.WRITE;
    const maker = alloc_event[buffer];
    if (!makes && maker >= 0 && maker !== event)
      edges.push({
        from: maker,
        to: event,
        kind: how === Use.VIEW ? 'view' : how === Use.LOAD ? 'saved' : 'data',
        nbytes: nbytes[buffer]
      });
    if (makes) {
      for (const other of (await links.usesOfBuffer(buffer)).slice(0, 12)) {
        if (uses.event[other] !== event && uses.how[other] !== Use.MAKE)
          edges.push({
            from: event,
            to: uses.event[other],
            kind: uses.how[other] === Use.LOAD ? 'saved' : 'data',
            nbytes: nbytes[buffer]
          });
      }
    }
  }
  const call = trace.events.call[event];
  if (call >= 0 && call !== event && trace.events.kind[event] === Kind.PULLBACK)
    edges.push({ from: call, to: event, kind: 'backward', nbytes: 0 });
  if (call === event)
    for (const other of links.ofCall(call).slice(0, 12))
      if (trace.events.kind[other] === Kind.PULLBACK)
        edges.push({ from: event, to: other, kind: 'backward', nbytes: 0 });
  return edges;
}

function place(layers: [number, number][], edges: GraphEdge[]): GraphNode[] {
  const low = Math.min(...layers.map(([, layer]) => layer));
  const nodes = layers.map(([event, layer]) => ({ event, layer: layer - low, x: (layer - low) * LAYER_PX, y: 0 }));
  const byEvent = new Map(nodes.map(node => [node.event, node]));
  const columns: GraphNode[][] = [];
  for (const node of nodes) (columns[node.layer] ??= []).push(node);
  const spread = (column: GraphNode[]): void =>
    column.forEach((node, i) => (node.y = (i - (column.length - 1) / 2) * NODE_PX));
  columns.forEach(column => spread(column));
  for (let round = 0; round < 6; round++) {
    for (const column of columns) {
      const centre = new Map(
        column.map(node => {
          const ys = edges
            .filter(e => e.from === node.event || e.to === node.event)
            .map(e => byEvent.get(e.from === node.event ? e.to : e.from)?.y ?? node.y);
          return [node, ys.length ? ys.reduce((a, b) => a + b) / ys.length : node.y] as const;
        })
      );
      column.sort((a, b) => centre.get(a)! - centre.get(b)!);
      spread(column);
    }
  }
  const top = Math.min(...nodes.map(node => node.y));
  for (const node of nodes) node.y -= top;
  return nodes;
}
