import assert from "node:assert/strict";
import { type ExecFileOptions, execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Nodes } from "@mooring/store";
import { thorough } from "../../packages/store/src/testing/sample.ts";
import { Up } from "../support/up.ts";
import { runService } from "./support/service.ts";

const ROOT = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { version: string };

interface Locked {
  version?: string;
  dev?: boolean;
  link?: boolean;
}

interface Component {
  purl: string;
  licenses?: object[];
}

describe("npm run release", () => {
  let folder: string;
  const at = (...names: string[]) => join(folder, ...names);
  const make = (out: string, options: ExecFileOptions = {}) =>
    execute(
      process.execPath,
      [join(ROOT, "scripts/release.mjs"), "--without-image", "--out", at(out)],
      options,
    );

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mooring-release-"));
    await make("first");
  });
  after(() => rm(folder, { recursive: true }));

  test("a second one, elsewhere and under another umask, is the same bytes", async () => {
    await mkdir(at("elsewhere"));
    const before = process.umask(0o077);
    try {
      await make("second", { env: { ...process.env, TMPDIR: at("elsewhere") } });
    } finally {
      process.umask(before);
    }
    const sums = (name: string) => readFile(at(name, "SHA256SUMS"), "utf8");
    assert.equal(await sums("second"), await sums("first"));
    const listed = (await sums("first"))
      .trimEnd()
      .split("\n")
      .map((line) => line.split("  ")[1]);
    const files = (await readdir(at("first"))).filter((name) => name !== "SHA256SUMS");
    assert.deepEqual(listed.sort(), files.sort());
    await execute("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: at("first") });
  });

  test("the bill of materials has each npm package that is installed to run, with version and licence", async () => {
    const lock = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as {
      packages: Record<string, Locked>;
    };
    const installed = Object.entries(lock.packages)
      .filter(([at, { dev = false, link = false }]) => at.includes("node_modules/") && !dev && !link)
      .filter(([at]) => existsSync(join(ROOT, at)))
      .map(([at, { version: of }]) => `${at.split("node_modules/").at(-1)}@${of}`);
    const bill = JSON.parse(await readFile(at("first", `mooring-${version}.cdx.json`), "utf8")) as {
      components: Component[];
    };
    const listed = new Map(bill.components.map((each) => [decodeURIComponent(each.purl), each]));
    assert.ok(installed.length > 50);
    for (const each of installed)
      assert.ok((listed.get(`pkg:npm/${each}`)?.licenses ?? []).length > 0, `${each} has no licence`);
    for (const [purl, { licenses = [] }] of listed) assert.ok(licenses.length > 0, purl);
  });

  test("the npm package installs by itself, and its command runs the demo", async () => {
    const prefix = at("prefix");
    const pack = at("first", `mooring-${version}.tgz`);
    await execute("npm", ["install", "--global", "--prefix", prefix, "--no-audit", "--no-fund", pack]);
    const mooring = join(prefix, "bin/mooring");
    const { stdout: shown } = await execute(mooring, ["version"]);
    assert.ok(shown.includes(version), shown);
    const { stdout } = await execute(mooring, ["demo"], { maxBuffer: 16 << 20 });
    assert.match(stdout, /the group lost nothing acknowledged\s+ok/);
  });

  test("the Debian package has the command, its unit and its settings, and needs what Mooring runs", async () => {
    const [deb = ""] = (await readdir(at("first"))).filter((name) => name.endsWith(".deb"));
    const field = async (name: string) =>
      (await execute("dpkg-deb", ["--field", at("first", deb), name])).stdout.trimEnd();
    assert.deepEqual([await field("Package"), await field("Version")], ["mooring", version]);
    const needed = `${await field("Depends")}, ${await field("Recommends")}`.split(", ");
    for (const name of [
      "nodejs (>= 20.19)",
      "perl-base",
      "mount",
      "xfsprogs",
      "e2fsprogs",
      "btrfs-progs",
      "runc",
    ])
      assert.ok(needed.includes(name), name);
    const root = at("root");
    await execute("dpkg-deb", ["--extract", at("first", deb), root]);
    const { stdout } = await execute(process.execPath, [
      join(root, "usr/lib/mooring/dist/mooring.mjs"),
      "version",
    ]);
    assert.ok(stdout.includes(version), stdout);
    const unit = await readFile(join(root, "usr/lib/systemd/system/mooring.service"), "utf8");
    assert.match(unit, /^ExecStart=\/usr\/bin\/mooring up --config \/etc\/mooring\/config\.yaml$/m);
    const { stdout: help } = await execute(join(ROOT, "mooring"), ["up", "--help"]);
    const settings = await readFile(join(root, "etc/mooring/config.yaml"), "utf8");
    for (const [, name] of settings.matchAll(/^(?:# )?([a-z-]+): /gm))
      assert.ok(help.includes(`--${name} `), name);
    await execute("dpkg-deb", ["--control", at("first", deb), at("control")]);
    assert.equal(await readFile(at("control", "conffiles"), "utf8"), "/etc/mooring/config.yaml\n");
    for (const script of ["postinst", "prerm", "postrm"]) await execute("sh", ["-n", at("control", script)]);
  });

  test("dpkg installs and removes it, and its service's command runs with its settings", async (t) => {
    const [deb = ""] = (await readdir(at("first"))).filter((name) => name.endsWith(".deb"));
    // A machine of its own: what is written in it is in memory.
    const inside = `
      set -e
      mount -t tmpfs tmpfs "$1" && cd "$1" && mkdir upper work root
      mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
      for name in dev proc tmp; do mount --rbind /$name root/$name; done
      cd root
      sh_in() { chroot . sh -ec "$@"; }
      sh_in 'dpkg --force-depends --install "$0" && mooring version' "$2"
      sh_in 'grep "^ExecStart=" /usr/lib/systemd/system/mooring.service && cat /etc/mooring/config.yaml'
      sh_in 'dpkg --remove mooring && ! test -e /usr/bin/mooring && test -e /etc/mooring/config.yaml'
      sh_in 'dpkg --purge mooring && ! test -e /etc/mooring'`;
    await mkdir(at("machine"));
    const apart = ["--mount", "--propagation", "private", "sh", "-c", inside, "sh"];
    const { stdout } = await execute("unshare", [...apart, at("machine"), at("first", deb)]);
    assert.match(stdout, /Check \/etc\/mooring\/config\.yaml, then: systemctl enable --now mooring/);
    assert.ok(stdout.includes(version), stdout);
    const installed = at("installed");
    await execute("dpkg-deb", ["--extract", at("first", deb), installed]);
    const command = join(installed, "usr/lib/mooring/dist/mooring.mjs");
    const config = join(installed, "etc/mooring/config.yaml");
    const up = await Up.create({ program: [process.execPath, command], args: ["--config", config] });
    t.after(() => up.dispose());
    await up.start();
    const store = await up.store();
    t.after(() => store.close());
    assert.equal((await store.list(Nodes)).items.length, 1);
  });

  test(
    "its service runs under systemd, through a kill, a stop, a version back and its removal",
    thorough(),
    async () => {
      const [deb = ""] = (await readdir(at("first"))).filter((name) => name.endsWith(".deb"));
      await runService(at(`service-${basename(folder)}`), at("first", deb));
    },
  );

  test("the chart is files alone, and names none outside of it", async () => {
    const chart = at("first", `mooring-chart-${version}.tgz`);
    const { stdout } = await execute("tar", ["-tvzf", chart]);
    const lines = stdout.trimEnd().split("\n");
    assert.ok(
      lines.every((line) => /^[d-]/.test(line)),
      "an archive of a chart has no links",
    );
    for (const name of [
      "Chart.yaml",
      "values.yaml",
      "values.schema.json",
      "crds/storage.mooring.dev_volumes.yaml",
    ])
      assert.ok(
        lines.some((line) => line.endsWith(` mooring/${name}`)),
        name,
      );
  });
});
