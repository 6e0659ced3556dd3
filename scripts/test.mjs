#!/usr/bin/env node
// `npm test`: set the machine up, then the tests of every day; none needs anything but this machine. Arguments after `--`
// are those of scripts/node-test.mjs.
import { join } from "node:path";
import { run } from "./lib/run.mjs";
import { ROOT, setUp } from "./lib/setup.mjs";
import { helpIfAsked } from "./lib/tests/help.mjs";

helpIfAsked("npm test", process.argv.slice(2));
await setUp("npm test", [
  { command: "buildah", package: "buildah", why: "builds the image of deploy/Containerfile" },
  { command: "busybox", package: "busybox-static", why: "is the program in the images that tests make" },
  {
    command: "systemd-nspawn",
    package: "systemd-container",
    why: "boots a machine that has Mooring as a service",
  },
]);
process.exit(
  await run(process.execPath, [join(ROOT, "scripts/node-test.mjs"), ...process.argv.slice(2)], { cwd: ROOT }),
);
