import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { constants, Script } from "node:vm";

/** What a process compiles in less time than this is not worth keeping: it has ended before it did anything. */
const LEAST_SECONDS = 3;

/**
 * Flags of V8 for single commands, set before anything is compiled, as it takes up only what was compiled under the same ones. A
 * control plane works in bursts, and optimizing what runs in one of them a few times costs more than it saves: V8 does so
 * later than it would, after four times as much work.
 */
const FLAGS: ReadonlyMap<string, readonly string[]> = new Map([
  ["controller", ["--interrupt-budget=270336"]],
]);
/**
 * Of the same commands, set once it is compiled and until the command says what it wants: see `keepGarbageSmall`. What a program makes as
 * it begins has the young generation grow to its limit of 32 MiB, of which V8 gives nothing back before the process is idle. And the
 * first collection of the old one says when there is a second: after fourfold growth, as V8 has it.
 */
const UNTIL_BEGUN: ReadonlyMap<string, readonly string[]> = new Map([
  ["controller", ["--semi-space-growth-factor=1", "--heap-growing-percent=50"]],
]);

/**
 * Loads a CommonJS program that lies beside this bundle, with the machine code that an earlier process left when it ended:
 * V8 compiles a function when it is first called, which takes `mooring up` a third of the processor time of its start.
 * The name of a program has the hash of its text; what V8 itself is, and its flags, V8 checks. Without a cache, or with one
 * that V8 rejects, the program is compiled as ever, and leaves one.
 *
 * `purpose` keeps apart the caches of commands that need different functions.
 */
export function loadWithCodeCache(name: string, purpose: string): unknown {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const require = createRequire(path);
  // Of scripts that it has not loaded itself Node.js does not read the source maps.
  if (process.sourceMapsEnabled) return require(path);
  // Else V8 forgets what was needed at the start before the process ends.
  for (const flag of ["--no-flush-bytecode", ...(FLAGS.get(purpose) ?? [])]) setFlagsFromString(flag);
  const cache = `${path}.${purpose}-${cachedDataVersionTag().toString(16)}.cache`;
  const script = compile(path, cache);
  for (const flag of UNTIL_BEGUN.get(purpose) ?? []) setFlagsFromString(flag);
  const exported: { exports: unknown } = { exports: {} };
  script.runInThisContext()(exported.exports, require, exported, path, dirname(path));
  return exported.exports;
}

function compile(path: string, cache: string): Script {
  const text = `(function(exports,require,module,__filename,__dirname){${readFileSync(path, "utf8")}\n})`;
  const cachedData = existsSync(cache) ? readFileSync(cache) : undefined;
  const script = new Script(text, {
    filename: path,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const isGood = cachedData !== undefined && script.cachedDataRejected === false;
  if (!isGood) process.once("exit", () => keep(script, cache, cachedData !== undefined));
  return script;
}

function keep(script: Script, cache: string, isRejected: boolean): void {
  if (process.uptime() < LEAST_SECONDS || (existsSync(cache) && !isRejected)) return;
  const temporary = `${cache}.${process.pid}`;
  try {
    write(temporary, script.createCachedData());
    renameSync(temporary, cache);
  } catch {
    // A folder that is read only, or another user's: every start compiles then.
    rmSync(temporary, { force: true });
  }
}

/** On the disk before it gets its name: V8 does not notice every fault in what it is given. */
function write(path: string, data: Buffer): void {
  const fd = openSync(path, "wx", 0o644);
  try {
    writeFileSync(fd, data);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
