// A test controller with a file whose tests are found when they are asked for.
const vscode = require('vscode')

const told = []

exports.activate = context => {
  const uri = vscode.Uri.file('/srv/calc.js')
  const at = line => new vscode.Range(line, 0, line, 4)
  const fast = new vscode.TestTag('fast')
  const calc = vscode.tests.createTestController('calc', 'Calc')
  let found = ['adds', 'divides', 'slow']
  const file = calc.createTestItem('calc.js', 'calc.js', uri)
  file.canResolveChildren = true
  const fill = () => file.children.replace(found.map((name, i) => {
    const test = calc.createTestItem(name, name, uri)
    test.range = at(i)
    if (name === 'adds') test.tags = [fast]
    if (name === 'slow') test.description = 'until it is canceled'
    return test
  }))
  calc.resolveHandler = test => {
    if (!test) return calc.items.replace([file])
    told.push('resolve ' + test.id)
    fill()
  }
  calc.refreshHandler = () => { found = [...found, 'more']; fill() }

  const each = function * (items) {
    for (const [, test] of items) {
      if (test.children.size > 0) yield * each(test.children)
      else yield test
    }
  }
  const wanted = request => [...each(request.include ? request.include.map(x => [x.id, x]) : calc.items)].filter(x => !(request.exclude ?? []).includes(x))

  const results = {
    adds: (run, test) => run.passed(test, 12),
    divides: (run, test) => {
      const message = vscode.TestMessage.diff('not equal', '2', '3')
      message.location = new vscode.Location(uri, at(7))
      message.stackTrace = [new vscode.TestMessageStackFrame('divide', uri, new vscode.Position(9, 2))]
      run.failed(test, message, 3)
    },
    more: (run, test) => run.skipped(test),
    slow: (run, test, token) => new Promise(resolve => token.onCancellationRequested(() => {
      told.push('canceled')
      run.skipped(test)
      resolve()
    }))
  }
  const handler = label => async (request, token) => {
    told.push(label + ' ' + (request.include ? request.include.map(x => x.id) : 'all'))
    if (label === 'Broken') throw new Error('no compiler')
    const run = calc.createTestRun(request)
    for (const test of wanted(request)) {
      run.started(test)
      run.appendOutput('\x1b[1m' + test.id + '\x1b[0m\r\n', undefined, test)
      await results[test.id](run, test, token)
    }
    run.end()
  }
  calc.createRunProfile('Broken', vscode.TestRunProfileKind.Run, handler('Broken'))
  calc.createRunProfile('Run', vscode.TestRunProfileKind.Run, handler('Run'), true)
  calc.createRunProfile('Fast', vscode.TestRunProfileKind.Run, handler('Fast'), false, fast)

  context.subscriptions.push(
    calc,
    vscode.commands.registerCommand('calc.told', () => told.splice(0)),
    vscode.commands.registerCommand('calc.begin', () => {
      const run = calc.createTestRun(new vscode.TestRunRequest([file]), 'by itself')
      run.passed(file, 1)
      run.end()
    }),
    vscode.commands.registerCommand('calc.dispose', () => calc.dispose()))
}
