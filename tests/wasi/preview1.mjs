// Runs a program of wasm32-wasip1 with its arguments, as CARGO_TARGET_WASM32_WASIP1_RUNNER. A panic is a trap, which ends
// this process with a failure.
import { readFile } from 'node:fs/promises'
import { WASI } from 'node:wasi'

const [file, ...args] = process.argv.slice(2)
const wasi = new WASI({ version: 'preview1', args: [file, ...args], env: process.env, returnOnExit: true })
const module = await WebAssembly.compile(await readFile(file))
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()))
