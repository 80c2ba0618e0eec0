/** What does gradviz add to JupyterLab and Notebook? Documents, outputs, heat beside lines, a panel, commands. */

import { ILabShell, ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { EditorExtensionRegistry, IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { FILE_TYPE, ProfileDocumentFactory } from './document.js';
import { heatGutter } from './gutter.js';
import { profileIcon } from './icon.js';
import { goTo } from './navigate.js';
import { ProfilesPanel } from './panel.js';
import { Profiles } from './profiles.js';
import { rendererFactory } from './renderer.js';

const documents: JupyterFrontEndPlugin<void> = {
  id: 'gradviz:documents',
  description: 'Opens .gradviz files.',
  autoStart: true,
  activate: (app: JupyterFrontEnd) => {
    app.docRegistry.addFileType(FILE_TYPE);
    app.docRegistry.addWidgetFactory(
      new ProfileDocumentFactory({
        name: 'Gradient profile',
        modelName: 'base64',
        fileTypes: ['gradviz'],
        defaultFor: ['gradviz'],
        readOnly: true
      })
    );
  }
};

const outputs: JupyterFrontEndPlugin<void> = {
  id: 'gradviz:outputs',
  description: 'Shows profiles in the outputs of cells.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker],
  activate: (_app: JupyterFrontEnd, rendermime: IRenderMimeRegistry, tracker: INotebookTracker | null) => {
    const onLine = (place: { file: string; line: number; cell: number }, source: string | undefined): void => {
      if (tracker?.currentWidget && place.cell >= 0) void goTo(tracker.currentWidget, place, source);
    };
    rendermime.addFactory(rendererFactory({ onLine }));
  }
};

const notebooks: JupyterFrontEndPlugin<void> = {
  id: 'gradviz:notebooks',
  description: 'Heat beside profiled lines, and a panel of the profiles of the open notebook.',
  autoStart: true,
  requires: [INotebookTracker, IEditorExtensionRegistry],
  optional: [ISettingRegistry, ICommandPalette, ILabShell, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    editors: IEditorExtensionRegistry,
    registry: ISettingRegistry | null,
    palette: ICommandPalette | null,
    shell: ILabShell | null,
    restorer: ILayoutRestorer | null
  ) => {
    const profiles = new Profiles(tracker);
    let settings: ISettingRegistry.ISettings | null = null;
    const enabled = (): boolean => settings?.composite.heat !== false;
    editors.addExtension({
      name: 'gradviz:heat',
      factory: ({ model }) =>
        EditorExtensionRegistry.createImmutableExtension(
          (model as { type?: string }).type === 'code' ? heatGutter(profiles, enabled) : []
        )
    });
    void registry?.load(notebooks.id).then(loaded => {
      settings = loaded;
      loaded.changed.connect(() => profiles.refresh());
      profiles.refresh();
    });
    addPanel(app, profiles, tracker, shell, restorer);
    addCommands(app, () => settings, enabled, palette);
  }
};

function addPanel(
  app: JupyterFrontEnd,
  profiles: Profiles,
  tracker: INotebookTracker,
  shell: ILabShell | null,
  restorer: ILayoutRestorer | null
): void {
  const panel = new ProfilesPanel(profiles, tracker);
  app.shell.add(panel, shell ? 'right' : 'left', { rank: 700 });
  restorer?.add(panel, panel.id);
  app.commands.addCommand('gradviz:show-profiles', {
    label: 'Gradient Profiles of This Notebook',
    icon: profileIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => app.shell.activateById(panel.id)
  });
}

function addCommands(
  app: JupyterFrontEnd,
  settings: () => ISettingRegistry.ISettings | null,
  enabled: () => boolean,
  palette: ICommandPalette | null
): void {
  app.commands.addCommand('gradviz:toggle-heat', {
    label: 'Heat Beside Profiled Lines',
    isToggled: enabled,
    isEnabled: () => settings() !== null,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => settings()?.set('heat', !enabled())
  });
  for (const command of ['gradviz:show-profiles', 'gradviz:toggle-heat'])
    palette?.addItem({ command, category: 'Gradients' });
}

export default [documents, outputs, notebooks];
