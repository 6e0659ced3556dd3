// Loaded before node:test. The test runner follows every promise and timer of a file, to know which test an error belongs
// to that nobody has caught: a fifth of the processor time of tests that talk to servers. Here it follows its own tests
// and suites alone, which it finds its way by. An error that no code has caught is reported of the file, which fails as before.
"use strict";

const hooks = require("node:async_hooks");

const { AsyncResource, createHook } = hooks;
const OFF = { enable: () => OFF, disable: () => OFF };
let init;

/** Both keys at once are the test runner's; nothing else here has hooks of its own. */
hooks.createHook = (callbacks) => {
  if (callbacks.init === undefined || callbacks.destroy === undefined) return createHook(callbacks);
  init = callbacks.init;
  return OFF;
};

/** What the test runner's tests and suites are made from. */
hooks.AsyncResource = class extends AsyncResource {
  constructor(type, options) {
    super(type, options);
    init?.(this.asyncId(), type, this.triggerAsyncId(), this);
  }
};
