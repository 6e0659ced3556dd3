import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { eventually } from "@mooring/store/testing";
import { serverConfig } from "../../packages/engine/src/node/share/config.ts";
import { shareLayout } from "../../packages/engine/src/node/share/layout.ts";
import { thorough } from "../../packages/store/src/testing/sample.ts";

const ROOT = join(import.meta.dirname, "../..");
const execute = promisify(execFile);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : assert.fail("no port");
}

describe("the container image", () => {
  let folder: string;
  let root: string;
  let config: { Env: string[]; Entrypoint: string[]; Labels: Record<string, string> };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mooring-image-"));
    const archive = join(folder, "image.tar");
    await execute(process.execPath, [join(ROOT, "scripts/image.mjs"), "--out", archive]);
    const layout = join(folder, "layout");
    root = join(folder, "root");
    for (const path of [layout, root]) await mkdir(path);
    await execute("tar", ["-xf", archive, "-C", layout]);
    const blob = async (digest: string) =>
      JSON.parse(await readFile(join(layout, "blobs", digest.replace(":", "/")), "utf8"));
    const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
    const { layers, config: described } = await blob(index.manifests[0].digest);
    config = (await blob(described.digest)).config;
    await execute("tar", ["-xf", join(layout, "blobs", layers[0].digest.replace(":", "/")), "-C", root]);
  });
  after(() => rm(folder, { recursive: true }));

  test("a second one, elsewhere and under another umask, is the same bytes", thorough(), async () => {
    await mkdir(join(folder, "elsewhere"));
    const again = join(folder, "again.tar");
    const before = process.umask(0o077);
    try {
      const env = { ...process.env, TMPDIR: join(folder, "elsewhere") };
      await execute(process.execPath, [join(ROOT, "scripts/image.mjs"), "--out", again], { env });
    } finally {
      process.umask(before);
    }
    await execute("cmp", [join(folder, "image.tar"), again]);
  });

  test("the command runs in it, with nothing of this machine", async () => {
    const { stdout } = await execute("chroot", [root, "/usr/bin/mooring", "version"]);
    assert.match(stdout, /mooring/);
  });

  test("deploy/Containerfile has its environment, its labels and its command", async () => {
    const text = await readFile(join(ROOT, "deploy/Containerfile"), "utf8");
    const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const labels = Object.entries(config.Labels).map(([name, value]) => `${name}=${value}`);
    assert.deepEqual(lines, [
      ...["FROM scratch", "COPY . /", `ENV ${config.Env.join(" ")}`, `LABEL ${labels.join(" ")}`],
      `ENTRYPOINT ${JSON.stringify(config.Entrypoint)}`,
    ]);
  });

  test("a volume that several nodes use is served by it, and can be mounted from it", async (t) => {
    const layout = shareLayout("/tmp/state", "v-1");
    for (const path of [layout.mount, layout.recovery]) await mkdir(join(root, path), { recursive: true });
    await writeFile(join(root, layout.mount, "file"), "of the volume");
    const port = await freePort();
    const config = serverConfig(layout, "v-1", { address: "127.0.0.1", port }, ["127.0.0.1"]);
    await writeFile(join(root, layout.config), config);
    const args = ["-F", "-f", layout.config, "-L", layout.log, "-p", layout.pidFile];
    const mounts = ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"];
    const inside =
      'mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && exec chroot "$0" ganesha.nfsd "$@"';
    const server = spawn("unshare", [...mounts, "sh", "-c", inside, root, ...args], { stdio: "ignore" });
    t.after(async () => {
      const ended = once(server, "exit");
      if (server.kill("SIGKILL")) await ended;
    });
    const url = `nfs://127.0.0.1/v-1/file?version=4&nfsport=${port}`;
    const read = () => execute("nfs-cat", [url]).then(({ stdout }) => stdout);
    const text = await eventually("the server to answer", () => read().catch(() => undefined)).catch(
      async (cause: unknown) => {
        const log = await readFile(join(root, layout.log), "utf8").catch(String);
        throw new Error(`nothing is served: ${log}`, { cause });
      },
    );
    assert.equal(text, "of the volume");
    const { stdout } = await execute("chroot", [root, "mount.nfs4", "-V"]);
    assert.match(stdout, /nfs-utils/);
  });
});
