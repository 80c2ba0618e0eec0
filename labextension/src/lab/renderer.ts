/** How does a profile show as the output of a cell? The viewer itself; it never makes markup of data, so it is safe in untrusted notebooks. */

import { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';
import { mount, Options, Viewer } from '../viewer/index.js';
import { bytesOf, MIME_TYPE, ProfileData } from './profiles.js';

class ProfileOutput extends Widget implements IRenderMime.IRenderer {
  private viewer: Viewer | null = null;

  constructor(private readonly options: Options) {
    super();
    this.addClass('gv-output');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const data = model.data[MIME_TYPE] as unknown as ProfileData;
    this.node.style.height = `${Number(data.height_px) || 640}px`;
    const after = bytesOf(data.profile);
    const before = data.before ? bytesOf(data.before) : undefined;
    if (this.viewer) await this.viewer.update(after, before);
    else await (this.viewer = mount(this.node, after, { ...this.options, before })).ready;
  }

  override dispose(): void {
    this.viewer?.destroy();
    super.dispose();
  }
}

export const rendererFactory = (options: Options): IRenderMime.IRendererFactory => ({
  safe: true,
  mimeTypes: [MIME_TYPE],
  defaultRank: 10,
  createRenderer: () => new ProfileOutput(options)
});
