// Of several files in one process node:test makes one file: what one of them wants after its last test, `after()` outside of
// a suite, runs when the process ends. Loaded before the first file, this has such hooks called at the end of their own.
import { createRequire } from "node:module";

/** What a module that imports `node:test` finds there is what was there when the first one did: nothing here imports it. */
const runner = createRequire(import.meta.url)("node:test");
const { after } = runner;
export const { test } = runner;
/** Those of the file that is loaded; `undefined` while none is. */
let hooks;
let suites = 0;

/** Also for helpers that a file calls while it is loaded. Hooks of a suite, and of a test that runs, stay theirs. */
runner.after = (hook, options) => {
  if (hooks === undefined || suites > 0) after(hook, options);
  else hooks.push(hook);
};

runner.describe = withSuite(runner.describe);
runner.suite = withSuite(runner.suite);

/** What is called while a suite is made is about that suite. */
function withSuite(describe) {
  const inside = (argument) => {
    if (typeof argument !== "function") return argument;
    return (...given) => {
      suites += 1;
      try {
        return argument(...given);
      } finally {
        suites -= 1;
      }
    };
  };
  return Object.assign((...given) => describe(...given.map(inside)), describe);
}

/** Loads a file by `load`, and returns what it wants to be called after its last test, in the order in which it said so. */
export async function hooksOfFile(load) {
  const found = [];
  hooks = found;
  try {
    await load();
  } finally {
    hooks = undefined;
  }
  return found;
}
