// A tree of two levels, and what its extension is told of it.
const vscode = require('vscode')

const below = { fruit: ['apple', 'pear'], nuts: ['hazel'] }
const told = []
let checked = false

exports.activate = context => {
  const changed = new vscode.EventEmitter()
  const provider = {
    onDidChangeTreeData: changed.event,
    getChildren: x => x ? below[x] : Object.keys(below),
    getParent: x => Object.keys(below).find(of => below[of].includes(x)),
    getTreeItem: x => {
      const state = vscode.TreeItemCollapsibleState
      const item = new vscode.TreeItem(x, !below[x] ? state.None : x === 'fruit' ? state.Expanded : state.Collapsed)
      item.description = x.length + ' letters'
      if (x === 'apple') item.command = { command: 'trees.eat', title: 'Eat', arguments: [{ self: item, x }] }
      if (x === 'pear') item.checkboxState = checked ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked
      if (x === 'hazel') item.resourceUri = vscode.Uri.file('/srv/hazel')
      item.contextValue = 'food'
      return item
    },
    resolveTreeItem: (item, x) => { item.tooltip = new vscode.MarkdownString('**' + x + '**'); return item }
  }
  const tree = vscode.window.createTreeView('acme.tree', { treeDataProvider: provider, canSelectMany: true })
  tree.onDidExpandElement(e => told.push('expanded ' + e.element))
  tree.onDidCollapseElement(e => told.push('collapsed ' + e.element))
  tree.onDidChangeSelection(e => told.push('selected ' + e.selection))
  tree.onDidChangeVisibility(e => told.push('visible ' + e.visible))
  tree.onDidChangeCheckboxState(e => { for (const [x, state] of e.items) { checked = state === 1; told.push('checked ' + x + ' ' + state) } })
  context.subscriptions.push(
    tree,
    vscode.commands.registerCommand('trees.eat', ({ x }) => told.push('ate ' + x)),
    vscode.commands.registerCommand('trees.told', () => told.splice(0)),
    vscode.commands.registerCommand('trees.at', async (file, line, column, command) => {
      const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, file)
      const editor = await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri))
      editor.selection = new vscode.Selection(line, column, line, column)
      await vscode.commands.executeCommand(command)
    }),
    vscode.commands.registerCommand('trees.do', async (what, arg) => {
      switch (what) {
        case 'reveal':
          await tree.reveal(arg, { focus: true, expand: true })
          return [tree.visible, tree.selection]
        case 'add':
          below.fruit.push(arg)
          return changed.fire('fruit')
        case 'all':
          below.nuts.push(arg)
          return changed.fire()
        case 'head':
          tree.message = 'two kinds'
          tree.description = 'all'
          tree.badge = { value: 3, tooltip: 'ripe' }
          return
        case 'selection': {
          const { line, character } = vscode.window.activeTextEditor.selection.start
          return [line, character]
        }
        case 'focus':
          return vscode.commands.executeCommand('acme.tree.focus')
        case 'dispose':
          return tree.dispose()
      }
    }))
}
