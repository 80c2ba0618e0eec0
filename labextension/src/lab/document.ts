/** How does a `.gradviz` file open as a document? */

import { ABCWidgetFactory, DocumentRegistry, DocumentWidget } from '@jupyterlab/docregistry';
import { Widget } from '@lumino/widgets';
import { mount, Viewer } from '../viewer/index.js';
import { bytesOf } from './profiles.js';
import { profileIcon } from './icon.js';

export const FILE_TYPE: Partial<DocumentRegistry.IFileType> & { name: string } = {
  name: 'gradviz',
  displayName: 'Gradient profile',
  extensions: ['.gradviz'],
  mimeTypes: ['application/vnd.gradviz'],
  contentType: 'file',
  fileFormat: 'base64',
  icon: profileIcon
};

class ProfileDocument extends Widget {
  private viewer: Viewer | null = null;

  constructor(private readonly context: DocumentRegistry.Context) {
    super();
    this.addClass('gv-document');
    void context.ready.then(() => {
      this.render();
      context.fileChanged.connect(this.render, this);
    });
  }

  private render(): void {
    if (this.isDisposed) return;
    const source = async (): Promise<Uint8Array> => bytesOf(this.context.model.toString());
    if (this.viewer) void this.viewer.update(source);
    else this.viewer = mount(this.node, source);
  }

  override dispose(): void {
    this.viewer?.destroy();
    super.dispose();
  }
}

export class ProfileDocumentFactory extends ABCWidgetFactory<DocumentWidget<Widget>> {
  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget<Widget> {
    return new DocumentWidget({ content: new ProfileDocument(context), context });
  }
}
