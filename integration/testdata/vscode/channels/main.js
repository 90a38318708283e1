const vscode = require('vscode')
const { window, workspace, Uri } = vscode
const fs = require('fs')
const path = require('path')

exports.activate = context => {
  const command = (name, run) => context.subscriptions.push(vscode.commands.registerCommand('channels.' + name, run))
  const build = window.createOutputChannel('Build')
  const log = window.createOutputChannel('Server', { log: true })
  command('write', text => {
    build.append('begin of ')
    build.appendLine(text)
    log.info('info ' + text, { of: 'it' })
    log.debug('not at this level')
    log.error(new Error('error ' + text).message)
    build.show()
  })
  // The folder for logs is one of files, by both ways.
  command('log', async () => {
    await workspace.fs.createDirectory(context.logUri)
    await workspace.fs.writeFile(Uri.joinPath(context.logUri, 'own.txt'), Buffer.from('by vscode'))
    fs.appendFileSync(path.join(context.logUri.fsPath, 'own.txt'), ' and node')
    return Buffer.from(await workspace.fs.readFile(Uri.joinPath(context.logUri, 'own.txt'))).toString()
  })
  command('crash', text => {
    build.appendLine(text)
    setTimeout(() => process.reallyExit ? process.reallyExit(3) : process.exit(3), 200)
  })
}
