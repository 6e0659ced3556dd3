import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createHost } from "@mooring/engine";
import { thorough } from "@mooring/store/testing";
import { takeOwnership } from "../../packages/standalone/src/kubelet/volumes/ownership.ts";
import { bindSubPath, removeSubPaths } from "../../packages/standalone/src/kubelet/volumes/subpath.ts";

const GROUP = 4242;
/** With names instead of open files, one of the first few got through. */
const TRIES = 40;

/** Tries something while a program that can write to a folder changes it, as fast as it can. */
async function against(folder: string, program: string, attempt: () => Promise<void>): Promise<void> {
  const loop = `use strict; chdir $ARGV[0] or die; $| = 1; print "at it\\n"; for (my $i = 0; ; $i++) { ${program} }`;
  const child = spawn("perl", ["-e", loop, "--", folder], { stdio: ["ignore", "pipe", "inherit"] });
  const exit = once(child, "exit");
  try {
    await once(child.stdout, "data");
    for (let i = 0; i < TRIES; i += 1) await attempt();
  } finally {
    child.kill("SIGKILL");
    await exit;
  }
}

/** A volume, and a folder of the machine with a file that no other test has. */
async function places(
  t: TestContext,
): Promise<{ volume: string; victim: string; isUnharmed(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "races-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [volume, victim] = [join(folder, "volume"), join(folder, "victim")];
  const secret = join(victim, "secret");
  await mkdir(volume);
  await mkdir(victim, { mode: 0o700 });
  await writeFile(secret, "s", { mode: 0o600 });
  const isUnharmed = async () => {
    const seen = await Promise.all([victim, secret].map((path) => stat(path)));
    assert.deepEqual(
      seen.map(({ mode, gid }) => `${(mode & 0o7777).toString(8)} ${gid}`),
      ["700 0", "600 0"],
    );
  };
  return { volume, victim, isUnharmed };
}

test(
  "what becomes a link while a volume is given to a group leads to nothing that is given as well",
  thorough(),
  async (t) => {
    const { volume, victim, isUnharmed } = await places(t);
    for (const folder of ["folder", "away"]) await mkdir(join(volume, folder));
    await writeFile(join(volume, "folder", "secret"), "");
    await symlink(victim, join(volume, "link"));
    const away = 'rename("folder", "away/f"); rename("link", "folder");';
    const back = 'rename("folder", "link"); rename("away/f", "folder");';
    await against(volume, `${away} ${back}`, async () => {
      await takeOwnership(volume, GROUP);
      await isUnharmed();
    });
  },
);

test(
  "a file that takes another's place while a volume is given to a group gives it neither its owner nor its mode",
  thorough(),
  async (t) => {
    const { volume } = await places(t);
    const [mine, theirs] = [join(volume, "mine"), join(volume, "theirs")];
    await writeFile(theirs, "s", { mode: 0o600 });
    await writeFile(mine, "");
    await chown(mine, 1000, 0);
    await chmod(mine, 0o4777);
    // A name that is always there, now of the one, now of the other.
    const swap =
      'my $of = $i % 2 ? "mine" : "theirs"; my $n = "n" . int($i / 2) % 20; link($of, "x"); rename("x", $n); unlink "x";';
    let group = GROUP;
    await against(volume, swap, async () => {
      group += 1;
      await takeOwnership(volume, group);
      const { uid, gid, mode } = await stat(theirs);
      assert.deepEqual([uid, gid, (mode & 0o7777).toString(8)], [0, group, "660"]);
    });
  },
);

test(
  "files that come and go while a volume is given to a group do not keep its pod from starting",
  thorough(),
  async (t) => {
    const { volume } = await places(t);
    const churn =
      'my $n = "f" . $i % 50; if (-d $n) { rmdir $n } elsif (!unlink $n) { if ($i % 3) { open(my $f, ">", $n) } else { mkdir $n } }';
    let group = GROUP;
    await against(volume, churn, async () => {
      group += 1;
      await takeOwnership(volume, group);
      assert.equal((await stat(volume)).gid, group);
    });
  },
);

test(
  "what becomes a link while a folder for a subPath is made leads to nothing that is opened for others",
  thorough(),
  async (t) => {
    const host = createHost();
    const { volume, victim, isUnharmed } = await places(t);
    const targets = join(volume, "..", "targets");
    await chmod(volume, 0o777);
    const replace = `if (rename("new", "old$i")) { symlink("${victim}", "new"); unlink("new") }`;
    await against(volume, replace, async () => {
      try {
        // Refused, or made where it belongs.
        await bindSubPath(host, volume, "new/deeper", join(targets, "0")).catch(() => {});
        await isUnharmed();
      } finally {
        await removeSubPaths(host, targets);
      }
    });
  },
);

test(
  "names that are no text are given to a group, and folders that are nested too deep are refused",
  thorough(),
  async (t) => {
    const { volume } = await places(t);
    const odd = Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0xff, 0xfe])]);
    await writeFile(odd, "", { mode: 0o600 });
    await takeOwnership(volume, GROUP);
    const { gid, mode } = await stat(odd);
    assert.deepEqual([gid, mode & 0o777], [GROUP, 0o660]);
    await mkdir(join(volume, ...Array.from({ length: 600 }, () => "d")), { recursive: true });
    await assert.rejects(takeOwnership(volume, GROUP), /fsGroup: folders are nested more than 500 deep/);
  },
);
