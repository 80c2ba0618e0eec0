/** Where do its inputs come from and where does its output go? The neighbourhood of the selected call as a small graph. */

import { h, svg } from '../dom.js';
import { bytes, clean, duration } from '../format.js';
import { Session } from '../session.js';
import { eventName, KINDS } from '../trace.js';
import { Graph, GraphNode, neighbourhood } from './layout.js';

const [NODE_WIDTH, NODE_HEIGHT, MARGIN] = [146, 32, 10];

export class GraphView {
  readonly element = h('div', { class: 'graph' });
  private turn = 0;

  constructor(private readonly session: Session) {
    session.state.on(['selection', 'panel'], () => void this.render());
    void this.render();
  }

  private async render(): Promise<void> {
    const { panel, selection } = this.session.state.now;
    if (panel !== 'graph') return;
    const turn = ++this.turn;
    const centre = this.session.eventsOf(selection)[0] ?? -1;
    if (centre < 0)
      return this.element.replaceChildren(h('p', { class: 'empty' }, 'Select an event to see its neighbours.'));
    const graph = await neighbourhood(this.session.trace, this.session.links, centre);
    if (turn === this.turn) this.draw(graph, centre);
  }

  private draw(graph: Graph, centre: number): void {
    const width = Math.max(...graph.nodes.map(n => n.x)) + NODE_WIDTH + 2 * MARGIN;
    const height = Math.max(...graph.nodes.map(n => n.y)) + NODE_HEIGHT + 2 * MARGIN;
    const at = new Map(graph.nodes.map(node => [node.event, node]));
    const picture = svg(
      'svg',
      {
        width,
        height,
        viewBox: `${-MARGIN} ${-MARGIN} ${width} ${height}`,
        role: 'img',
        'aria-label': 'Data flow around the selected event'
      },
      ...graph.edges.map(edge => {
        const [a, b] = [at.get(edge.from), at.get(edge.to)];
        if (!a || !b) return null;
        const [x0, y0, x1, y1] = [a.x + NODE_WIDTH, a.y + NODE_HEIGHT / 2, b.x, b.y + NODE_HEIGHT / 2];
        const bend = Math.max(20, (x1 - x0) / 2);
        return svg(
          'path',
          { class: `edge ${edge.kind}`, d: `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}` },
          svg('title', {}, `${edge.kind}${edge.nbytes ? `, ${bytes(edge.nbytes)}` : ''}`)
        );
      }),
      ...graph.nodes.map(node => this.node(node, node.event === centre))
    );
    const legend = h(
      'p',
      { class: 'quiet' },
      'left to right: data flow · dashed: kept for backward · amber: forward → pullback',
      graph.cut ? ` · ${graph.cut} more neighbours not drawn` : ''
    );
    this.element.replaceChildren(legend, picture);
    const here = at.get(centre);
    if (here)
      this.element.scrollTo({
        left: here.x - this.element.clientWidth / 2 + NODE_WIDTH / 2,
        top: here.y - this.element.clientHeight / 2
      });
  }

  private node(node: GraphNode, centre: boolean): SVGElement {
    const { trace, state } = this.session;
    const { start_ns, end_ns, kind } = trace.events;
    const go = (): void => {
      state.select({ kind: 'event', id: node.event });
      this.session.reveal([node.event]);
    };
    const onKey = ((event: KeyboardEvent) => event.key === 'Enter' && go()) as EventListener;
    const box = svg('rect', { width: NODE_WIDTH, height: NODE_HEIGHT, rx: 3 });
    const stripe = svg('rect', { width: 4, height: NODE_HEIGHT, rx: 2 });
    stripe.style.fill = `var(--kind-${KINDS[kind[node.event]]})`;
    return svg(
      'g',
      {
        class: `node${centre ? ' centre' : ''}`,
        transform: `translate(${node.x},${node.y})`,
        tabindex: 0,
        role: 'button',
        click: go,
        keydown: onKey
      },
      box,
      stripe,
      svg('text', { x: 10, y: 13 }, clean(eventName(trace, node.event), 22)),
      svg('text', { x: 10, y: 26, class: 'quiet' }, duration(end_ns[node.event] - start_ns[node.event])),
      svg('title', {}, clean(eventName(trace, node.event), 300))
    );
  }
}
