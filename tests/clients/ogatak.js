// Ogatak's own engine class against an engine, without its windows. Arguments: its src/modules folder, the engine's
// program, a file of settings, a network, an SGF file. Prints one JSON object of what Ogatak made of the answers.

const Module = require('module')
const fs = require('fs')
const path = require('path')

const [modules, program, settings, network, record] = process.argv.slice(2)
const load = Module._load
Module._load = (request, ...rest) => (request === 'electron' ? {ipcRenderer: {send() {}}} : load(request, ...rest))
const own = name => require(path.join(modules, name))

const alerts = []
const received = []
let woken = () => {}
global.config = {
  wide_root_noise: 0.04,
  report_every: 0.1,
  ownership_marks: 1,
  ownership_per_move: true,
  zobrist_checks: true,
  fast_first_report: true,
  default_rules: 'Chinese',
  default_komi: {},
  language: 'English'
}
global.alert = text => alerts.push(String(text))
global.stderrbox = {receive() {}, show() {}, hide() {}}
global.hub = {
  receive_object(o) {
    received.push(o)
    woken()
  }
}
global.tree_drawer = {must_draw: false, central_node: null}

const until = done =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no answer: ${alerts}`)), 120000)
    woken = () => {
      if (done()) {
        clearTimeout(late)
        woken = () => {}
        resolve()
      }
    }
    woken()
  })

async function main() {
  const {node_id_from_search_id, valid_analysis_object} = own('utils.js')
  const engine = own('engine.js')()
  engine.setup(program, settings, network)
  await until(() => engine.received_version)

  // A person walks through a game: each position is wanted before the search of the one before it has ended.
  const [root] = own('load_sgf.js')(fs.readFileSync(record)).get_roots()
  let hashes = 0
  for (let node = root; node; node = node.children[0]) {
    engine.analyse(node)
    const answer = () =>
      received.find(o => valid_analysis_object(o) && o.id && node_id_from_search_id(o.id) === node.id)
    await until(answer)
    node.receive_analysis(answer())
    hashes += Number(node.get_board().zobrist_string() === answer().rootInfo.thisHash)
  }
  const last = received.filter(valid_analysis_object).pop()
  engine.halt()
  await until(() => engine.running === null)
  const code = new Promise(resolve => engine.exe.once('exit', (code, signal) => resolve([code, signal])))
  engine.has_quit = true // else Ogatak tells the person that the engine has gone
  engine.exe.stdin.end()
  const left = await code
  const reports = received.filter(valid_analysis_object).length
  const figures = {version: engine.version, reports, hashes, alerts, ownership: last.ownership.length, left}
  console.log(JSON.stringify(figures))
  process.exit(0)
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
