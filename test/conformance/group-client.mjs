#!/usr/bin/env node
// Calls the volume group service of `mooring driver` from Go and by grpcurl, with nothing of ours but the socket: the
// messages are those of the CSI-Addons documents (group-client/*.proto). Needs Go and root; both are built once into .cache.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../scripts/lib/run.mjs";
import { stop } from "../../scripts/lib/say.mjs";
import { ROOT } from "../../scripts/lib/setup.mjs";
import { checkByGrpcurl } from "./group-client/grpcurl.mjs";
import { startDriver } from "./support/driver.mjs";

const MODULE = fileURLToPath(new URL("group-client", import.meta.url));
const PROGRAM = join(ROOT, ".cache/group-client/check");
/** The client sends it with every call that takes secrets. */
const SECRET = "known-to-nobody";

await mkdir(join(ROOT, ".cache/group-client"), { recursive: true });
const built = await run("go", ["build", "-o", PROGRAM, "."], { cwd: MODULE }).catch(() => 127);
if (built !== 0)
  stop(
    "The client of volume groups could not be built.",
    "install Go 1.25 or newer and allow its module proxy, then run this again",
  );

const folder = await mkdtemp(join(tmpdir(), "mooring-groups-"));
const socket = join(folder, "csi.sock");
const options = ["--state-dir", join(folder, "state"), "--node-id", "conformance-node"];
const driver = await startDriver(
  ["scripts/mooring.mjs", "driver", ...options, "--pool", "directory", "--log-level", "debug"],
  socket,
).catch((error) => stop(error.message, "mooring doctor"));
const exit = await run(PROGRAM, [socket]);
const curled = await checkByGrpcurl(socket);
const ended = await driver.stop();
const isLogged = driver.log().includes(SECRET);
process.stdout.write(`${isLogged ? "not ok" : "ok"} - the driver's log has no secret in it\n`);
const good = exit === 0 && curled && ended === 0 && !isLogged;
if (!good) process.stdout.write(`the driver ended with ${ended}:\n${driver.log()}\n`);
await rm(folder, { recursive: true, force: true });
process.exit(good ? 0 : 1);
