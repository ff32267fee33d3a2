// Drives an engine as Sabaki does, through the package @sabaki/gtp: attach, sync, play, undo, stop.
// Usage: node sabaki.js PATH_OF_SABAKI_GTP ENGINE ARGUMENT...

const assert = require('assert')
const {Controller, ControllerStateTracker} = require(process.argv[2])

const play = (color, vertex) => ({name: 'play', args: [color, vertex]})

async function main() {
  const controller = new Controller(process.argv[3], process.argv.slice(4))
  const tracker = new ControllerStateTracker(controller)
  const started = Date.now()
  const send = async (name, ...args) => {
    const response = await tracker.queueCommand({name, args})
    assert(!response.error, `${name} ${args.join(' ')}: ${response.content}`)
    return response.content
  }

  controller.start()
  // What Sabaki asks when an engine is attached.
  const [name, version, protocol, list] = await Promise.all(
    ['name', 'version', 'protocol_version', 'list_commands'].map(command => send(command))
  )
  const firstReply = Date.now() - started
  assert.strictEqual(name, 'Keima')
  assert.strictEqual(protocol, '2')
  const commands = list.split('\n')
  for (const wanted of ['boardsize', 'clear_board', 'komi', 'play', 'genmove', 'undo', 'set_free_handicap']) {
    assert(commands.includes(wanted), `${wanted} is not listed`)
  }

  // A position with handicap is synchronized, then changed: one move more, one other, two fewer.
  const handicap = {name: 'set_free_handicap', args: ['D4', 'F6']}
  const base = {komi: 0.5, boardsize: [9, 9]}
  const histories = [
    [handicap, play('W', 'C7'), play('B', 'G3')],
    [handicap, play('W', 'C7'), play('B', 'G3'), play('W', 'G7')],
    [handicap, play('W', 'C7'), play('B', 'G3'), play('W', 'C3')],
    [handicap, play('W', 'C7')],
    [play('B', 'E5'), play('B', 'E6'), play('W', 'pass')]
  ]
  for (const history of histories) {
    await tracker.sync({...base, history})
    assert.strictEqual(tracker.state.history.length, history.length)
  }
  await tracker.sync({komi: 7.5, boardsize: [13, 9], history: []})
  assert.deepStrictEqual(tracker.state.boardsize, [13, 9])

  // A game with time settings, each move undone once and played again.
  await tracker.sync({komi: 7.5, boardsize: [9, 9], history: []})
  await send('time_settings', '0', '1', '1')
  const moves = []
  for (let number = 0; number < 12; number++) {
    const color = number % 2 ? 'W' : 'B'
    const undone = await send('genmove', color)
    if (undone === 'resign') break
    await send('undo')
    await send('play', color, undone)
    moves.push(undone)
  }
  assert(moves.length >= 10, `only ${moves.length} moves`)
  assert(!(await send('showboard')).includes('\n\n'))

  // Sabaki stops a search by closing: an engine that does not leave in 3 s is killed.
  await send('time_settings', '0', '60', '1')
  controller.sendCommand({name: 'genmove', args: ['B']}).catch(() => {})
  await new Promise(resolve => setTimeout(resolve, 300))
  const stopping = Date.now()
  const left = new Promise(resolve => controller.process.once('exit', (code, signal) => resolve({code, signal})))
  await controller.stop()
  assert.deepStrictEqual(await left, {code: 0, signal: null})
  const summary = {name, version, commands: commands.length, firstReply, moves, stop: Date.now() - stopping}
  console.log(JSON.stringify(summary))
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
