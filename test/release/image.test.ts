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
import { makeBillOfMaterials } from "../../scripts/lib/release/bill-of-materials.mjs";

const ROOT = join(import.meta.dirname, "../..");
const execute = promisify(execFile);

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : assert.fail("no port");
}

interface Component {
  name: string;
  version: string;
  purl: string;
  licenses: { license: { name: string } }[];
}

/** Debian's packages that have the programs and libraries below `root`, found by their paths on this machine. */
async function packagesIn(root: string): Promise<Set<string>> {
  const search = ["usr", "etc/netconfig", "(", "-type", "f", "-o", "-type", "l", ")", "-print"];
  const { stdout } = await execute("find", search, { cwd: root });
  const made = ["usr/bin/mooring"];
  const files = stdout.split("\n").filter((path) => path !== "" && !made.includes(path));
  const owned = new Map<string, string>();
  const candidates = files.flatMap((path) => [`/${path}`, `/${path.replace(/^usr\//, "")}`]);
  const asked = await execute("dpkg-query", ["--search", ...candidates], { maxBuffer: 64 << 20 }).catch(
    (error: { stdout: string }) => error,
  );
  for (const line of asked.stdout.split("\n")) {
    const [, name = "", path = ""] = /^([^ :]+)[^ ]*: (.+)$/.exec(line) ?? [];
    owned.set(path.replace(/^\/usr\//, "/"), name);
  }
  const found = files.map((path) => owned.get(`/${path.replace(/^usr\//, "")}`));
  const lost = files.filter((_, index) => found[index] === undefined);
  assert.deepEqual(lost, [], "of no package");
  return new Set(found.filter((name) => name !== undefined));
}

interface Config {
  Env: string[];
  Entrypoint: string[];
  Labels: Record<string, string>;
  User?: string;
}

/** Writes what is in an OCI archive of one layer to a new folder; returns how it is run. */
async function unpack(archive: string, root: string): Promise<Config> {
  const layout = `${root}.layout`;
  for (const path of [layout, root]) await mkdir(path);
  await execute("tar", ["-xf", archive, "-C", layout]);
  const pathOf = (digest: string) => join(layout, "blobs", digest.replace(":", "/"));
  const blob = async (digest: string) => JSON.parse(await readFile(pathOf(digest), "utf8"));
  const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
  const { layers, config } = await blob(index.manifests[0].digest);
  assert.equal(layers.length, 1);
  await execute("tar", ["-xf", pathOf(layers[0].digest), "-C", root]);
  return (await blob(config.digest)).config;
}

/** Every path with its kind, mode, owner, size and target. */
async function listed(root: string): Promise<string[]> {
  const format = "%P %y %m %U:%G %l";
  const show = ["(", "-type", "d", "-printf", `${format}\\n`, ")", "-o", "-printf", `${format} %s\\n`];
  const { stdout } = await execute("find", [root, ...show], { maxBuffer: 64 << 20 });
  return stdout.split("\n").sort();
}

/** Debian's buildah with all that it keeps below a folder, and no network: what it needs is there. */
function buildahIn(folder: string) {
  const kept = [
    "--root",
    join(folder, "storage"),
    "--runroot",
    join(folder, "run"),
    "--storage-driver",
    "vfs",
  ];
  return async (command: string, ...args: string[]): Promise<string> => {
    const whole = ["--net", "buildah", ...kept, command, ...args];
    return (await execute("unshare", whole, { maxBuffer: 64 << 20 })).stdout.trim();
  };
}

describe("the container image", () => {
  let folder: string;
  let root: string;
  let config: Config;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mooring-image-"));
    const archive = join(folder, "image.tar");
    await execute(process.execPath, [join(ROOT, "scripts/image.mjs"), "--out", archive]);
    root = join(folder, "root");
    config = await unpack(archive, root);
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

  test(
    "the bill of materials has each Debian package that a file in it is of, with version and licences",
    thorough(),
    async () => {
      const bill = await makeBillOfMaterials({ out: folder, version: "0.0.0", image: true });
      const { components } = JSON.parse(await readFile(bill, "utf8")) as { components: Component[] };
      const listed = components.filter(({ purl }) => purl.startsWith("pkg:deb/"));
      for (const { name, licenses } of listed)
        assert.ok(licenses.length > 0 && licenses.every(({ license }) => license.name !== ""), name);
      const format = "--showformat=$" + "{Package} $" + "{Version}\\n";
      const { stdout } = await execute("dpkg-query", ["--show", format]);
      const versions = new Set(stdout.split("\n"));
      for (const { name, version } of listed)
        assert.ok(versions.has(`${name} ${version}`), `${name} ${version}`);
      assert.deepEqual(
        [...(await packagesIn(root))].sort(),
        [...new Set(listed.map(({ name }) => name))].sort(),
      );
    },
  );

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

  test(
    "buildah builds the same image of deploy/Containerfile, without a registry, and its command runs there",
    thorough(),
    async () => {
      const files = join(folder, "files");
      await execute(process.execPath, [join(ROOT, "scripts/image.mjs"), "--root", files]);
      const buildah = buildahIn(join(folder, "buildah"));
      const [chroot, name] = [["--isolation", "chroot"], "mooring:built"];
      const from = ["--file", join(ROOT, "deploy/Containerfile"), "--tag", name, files];
      await buildah("build", ...chroot, "--timestamp", "0", ...from);
      const archive = join(folder, "built.tar");
      await buildah("push", name, `oci-archive:${archive}`);
      const built = await unpack(archive, join(folder, "built"));
      const { "io.buildah.version": version, ...labels } = built.Labels;
      assert.deepEqual({ ...built, Labels: labels }, config, `of buildah ${version}`);
      // Another test runs programs in `root`.
      const ours = join(folder, "ours");
      await unpack(join(folder, "image.tar"), ours);
      assert.deepEqual(await listed(join(folder, "built")), await listed(ours));
      await execute("diff", ["--recursive", "--no-dereference", "--brief", join(folder, "built"), ours]);
      const container = await buildah("from", name);
      // As the chart runs the controller.
      const shown = await buildah(
        "run",
        ...chroot,
        "--user",
        "65532:65532",
        container,
        ...config.Entrypoint,
        "version",
      );
      assert.match(shown, /^mooring +\d/);
    },
  );

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
    const text = await eventually("the server to respond", () => read().catch(() => undefined)).catch(
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
