import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, v1 } from "./index.ts";

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const REPOSITORY = dirname(dirname(PACKAGE));
const MODULES = join(REPOSITORY, "node_modules");
const NEVER_IN_A_CHECKOUT = new Set(["dist", "node_modules", "tsconfig.tsbuildinfo"]);
const READY_MS = 60_000;

interface Manifest {
  exports: Record<string, { types: string; default: string }>;
  dependencies: Record<string, string>;
}

let folder: string;
/** What npm would publish, unpacked where an application has its packages. */
let installed: string;
let app: string;
let files: string[];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-csi-published-"));
  const checkout = join(folder, "checkout", "packages", "csi");
  await cp(PACKAGE, checkout, {
    recursive: true,
    filter: (path) => !NEVER_IN_A_CHECKOUT.has(basename(path)),
  });
  await cp(join(REPOSITORY, "tsconfig.base.json"), join(folder, "checkout", "tsconfig.base.json"));
  await symlink(MODULES, join(folder, "checkout", "node_modules"));
  files = await pack(checkout);

  app = join(folder, "app");
  installed = join(app, "node_modules", "@mooring", "csi");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, "package.tgz"), "-C", installed, "--strip-components=1"]);
  // Only what it names itself, and Node's types: anything else that it needed would be missing here.
  const { dependencies } = await manifest();
  for (const name of [...Object.keys(dependencies), "@types/node", "undici-types"]) {
    const link = join(app, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, name), link);
  }
  await writeFile(join(app, "package.json"), JSON.stringify({ name: "app", type: "module" }));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Packs as `npm publish` does, and lists what is in the package. */
async function pack(checkout: string): Promise<string[]> {
  const flags = ["--json", "--offline", "--foreground-scripts=false", "--pack-destination", folder];
  const env = {
    ...process.env,
    npm_config_cache: join(folder, "npm-cache"),
    npm_config_update_notifier: "false",
  };
  const { stdout } = await run("npm", ["pack", ...flags], { cwd: checkout, env, maxBuffer: 1 << 24 });
  const [{ filename, files: listed }] = JSON.parse(stdout) as [
    { filename: string; files: { path: string }[] },
  ];
  await cp(join(folder, filename), join(folder, "package.tgz"));
  return listed.map(({ path }) => path);
}

async function manifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
}

const readme = (): Promise<string> => readFile(join(installed, "README.md"), "utf8");

test("packed from a fresh checkout, it ships its code, its types and its licence, and no tests", async () => {
  const { exports } = await manifest();
  for (const entry of Object.values(exports)) {
    for (const path of Object.values(entry)) assert.ok(files.includes(path.replace("./", "")), path);
  }
  assert.ok(files.includes("LICENSE") && files.includes("README.md"));
  assert.match(await readFile(join(installed, "LICENSE"), "utf8"), /Apache License\s+Version 2\.0/);
  assert.deepEqual(
    files.filter((path) => /\.test\.|\/testing\/|tsbuildinfo/.test(path)),
    [],
  );
  for (const path of files.filter((each) => each.endsWith(".js.map"))) {
    const { sources } = JSON.parse(await readFile(join(installed, path), "utf8")) as { sources: string[] };
    for (const source of sources)
      assert.ok(files.includes(join(dirname(path), source)), `${path}: ${source}`);
  }
});

test("every link of the README that leads into the package finds something there", async () => {
  const links = [...(await readme()).matchAll(/\]\(([^)]+)\)/g)].map(([, to = ""]) => to);
  const within = links.filter((to) => !/^(https?:|#)/.test(to));
  assert.deepEqual(
    within.filter((to) => !files.includes(to)),
    [],
  );
});

test("the README's programs pass the compiler's strictest checks, run, and understand each other", async (t) => {
  const programs = [...(await readme()).matchAll(/```ts\n(.*?)```/gs)].map(([, text = ""]) => text);
  for (const [index, text] of programs.entries()) await writeFile(join(app, `program-${index}.ts`), text);
  const find = (text: string) =>
    join(app, `program-${programs.findIndex((program) => program.includes(text))}.js`);
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
  const kind = ["--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck", "false"];
  const sources = programs.map((_, index) => `program-${index}.ts`);
  await run(join(MODULES, ".bin", "tsc"), [...strict, ...kind, ...sources], { cwd: app }).catch(
    ({ stdout }: { stdout: string }) => assert.fail(stdout),
  );

  const { client, env, stop } = await serve(t, [find("createServer(")]);
  assert.equal((await client.identity.probe({})).ready, true);
  const { stdout } = await run(process.execPath, [find("connect(endpointFromEnvironment")], { env });
  assert.equal(stdout.trim(), `pvc-1 ${10n << 30n}n`);
  await stop();
});

test("the driver in 150 lines runs with what its README installs, outside of the repository", async (t) => {
  const example = join(REPOSITORY, "examples", "driver-minimal");
  const commands = await readFile(join(example, "README.md"), "utf8");
  const installs = /npm install (.*)/.exec(commands)?.[1]?.split(" ") ?? [];
  assert.deepEqual(installs, ["@mooring/csi", "tsx"]);
  assert.match(commands, /node --import tsx driver\.ts/);
  await symlink(join(MODULES, "tsx"), join(app, "node_modules", "tsx"));
  await cp(join(example, "driver.ts"), join(app, "driver.ts"));
  const { client, stop } = await serve(t, ["--import", "tsx", "driver.ts"]);
  const accessMode = { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER };
  const volumeCapabilities = [{ accessType: { case: "mount" as const, value: {} }, accessMode }];
  const { volume } = await client.controller.createVolume({ name: "a", volumeCapabilities });
  assert.match(volume?.volumeId ?? "", /^vol-/);
  await stop();
});

/** Runs a driver of the application; it has to end well when it is stopped. */
async function serve(t: TestContext, args: string[]) {
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const env = { ...process.env, CSI_ENDPOINT: endpoint, VOLUMES: join(folder, "volumes"), NODE_OPTIONS: "" };
  const driver = spawn(process.execPath, args, { cwd: app, env, stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  driver.stderr.on("data", (text) => {
    output += text;
  });
  const ended = once(driver, "exit");
  t.after(() => driver.kill("SIGKILL"));
  const gone = ended.then(([code]) => assert.fail(`the driver ended with ${code}: ${output}`));
  const client = await Promise.race([connect(endpoint, { readyTimeoutMs: READY_MS }), gone]);
  gone.catch(() => {});
  t.after(() => client.close());
  const stop = async (): Promise<void> => {
    driver.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null], output);
  };
  return { client, env, stop };
}
