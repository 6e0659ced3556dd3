import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createHost } from "@mooring/engine";
import { eventually, everyday, howMany, thorough } from "@mooring/store/testing";
import { cgroupName } from "./cgroups.ts";
import { identify } from "./process-identity.ts";
import { RUNC } from "./runc.ts";
import { RuntimeOfFile } from "./testing/runtime-of-file.ts";

const of = RuntimeOfFile.open();

test(
  "a container sees the machine read-only, its own processes, host name and environment, and no state folder",
  everyday(),
  async () => {
    await writeFile(join(of.stateDir, "secret"), "x");
    const { status, log } = await of.runToEnd(
      of.config(
        `hostname; echo "$GREETING"; echo $$; touch /etc/x 2>&1; touch /tmp/ok && echo tmp; cat ${of.stateDir}/secret 2>&1; exit 7`,
        {
          env: { PATH: "/usr/bin:/bin", GREETING: "hello $world\nsecond" },
        },
      ),
    );
    assert.equal(status.exit?.code, 7);
    assert.equal(status.exit?.reason, "Error");
    const [hostname, greeting, second, pid, touch, tmp, secret] = log.split("\n");
    assert.deepEqual(
      [hostname, greeting, second, pid, tmp],
      [`pod-${of.serial}`, "hello $world", "second", "1", "tmp"],
    );
    assert.match(touch ?? "", /Read-only file system/);
    assert.match(secret ?? "", /No such file/);
  },
);

test(
  "volumes are at their paths, made where the machine has nothing, read-only when asked",
  everyday(),
  async () => {
    const volume = join(of.stateDir, "volume");
    await mkdir(volume);
    await writeFile(join(volume, "file"), "content");
    const { log, status } = await of.runToEnd(
      of.config(
        "cat /data/file /deep/er/file /etc/one.conf; touch /data/new && echo w; touch /deep/er/x || echo ro; touch /var/run/v/z && ls /run/v",
        {
          mounts: [
            { source: volume, target: "/data", readOnly: false },
            { source: volume, target: "/deep/er", readOnly: true },
            { source: join(volume, "file"), target: "/etc/one.conf", readOnly: true },
            { source: volume, target: "/var/run/v", readOnly: false },
          ],
        },
      ),
    );
    assert.equal(status.exit?.code, 0, log);
    assert.match(log, /^contentcontentcontentw\n.*\nro\nfile\nnew\nz\n$/s);
  },
);

test(
  "a container runs as its user and groups, and root in it lacks what it was not given",
  everyday(),
  async () => {
    const user = await of.runToEnd(
      of.config("id -u; id -g; id -G", { user: { uid: 1234, gid: 77, groups: [5, 6] } }),
    );
    assert.equal(user.log, "1234\n77\n77 5 6\n");
    const root = await of.runToEnd(
      of.config("mount -o remount,rw / 2>&1; mount -t tmpfs none /mnt 2>&1; echo done"),
    );
    assert.match(root.log, /permission denied|must be superuser|not permitted/i);
    assert.match(root.log, /done/);
  },
);

test("a program that does not exist is a StartError that names it", everyday(), async () => {
  const { status } = await of.runToEnd(of.config("", { argv: ["no-such-program"] }));
  assert.equal(status.exit?.code, 128);
  assert.equal(status.exit?.reason, "StartError");
  assert.match(status.exit?.message ?? "", /no-such-program/);
});

test(
  "stop sends SIGTERM first, then kills everything that is left, also what was put into the background",
  everyday(),
  async () => {
    const polite = of.config("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    await of.runtime.start(polite);
    await of.logLine(polite, "up");
    await of.runtime.stop(polite.id, { graceMs: 10_000 });
    assert.equal(of.runtime.get(polite.id)?.exit?.code, 0);

    const stubborn = of.config("trap '' TERM; (setsid sleep 1000 &) ; echo up; while :; do sleep 0.05; done");
    await of.runtime.start(stubborn);
    await of.logLine(stubborn, "up");
    const init = of.runtime.get(stubborn.id)?.pid;
    await of.runtime.stop(stubborn.id, { graceMs: 100 });
    assert.equal(of.runtime.get(stubborn.id)?.exit?.code, 137);
    assert.equal(await identify(init ?? 0), undefined);
  },
);

test("a signal's exit code is 128 + n", everyday(), async () => {
  const { status } = await of.runToEnd(of.config("sh -c 'kill -TERM $$'; exit $?"));
  assert.equal(status.exit?.code, 143);
});

test(
  "what a program left in the background ends with it, however fast the program was",
  everyday(),
  async () => {
    const fast = Array.from({ length: howMany({ everyday: 6, full: 30 }) }, () =>
      of.config("(setsid sleep 1000 >/dev/null 2>&1 &); exit 0"),
    );
    for (const { status } of await Promise.all(fast.map((each) => of.runToEnd(each)))) {
      assert.equal(status.exit?.code, 0);
      assert.equal(await identify(status.pid ?? 0), undefined);
    }
  },
);

test("exec runs in the container, as its user, with its environment", everyday(), async () => {
  const wanted = of.config("sleep 1000", {
    env: { PATH: "/usr/bin:/bin", A: "b" },
    user: { uid: 99, gid: 99, groups: [] },
  });
  await of.runtime.start(wanted);
  const result = await of.runtime.exec(wanted.id, ["sh", "-c", "id -u; hostname; echo $A; exit 4"], {
    // As a probe may ask for it: longer than any timer.
    timeoutMs: 2 ** 31 * 1000,
  });
  assert.deepEqual(result, {
    exitCode: 4,
    started: true,
    output: `99\npod-${of.serial}\nb\n`,
    timedOut: false,
  });
  const slow = await of.runtime.exec(wanted.id, ["sleep", "100"], { timeoutMs: 50 });
  assert.equal(slow.timedOut, true);
  const missing = await of.runtime.exec(wanted.id, ["/no/such/program"], { timeoutMs: 60_000 });
  assert.deepEqual([missing.started, missing.exitCode === 0], [false, false]);
  await of.runtime.stop(wanted.id, { graceMs: 0 });
});

test("a program that writes without end while it is waited for is read no faster than is good for others", async () => {
  const wanted = of.config("sleep 1000");
  await of.runtime.start(wanted);
  const program = 'for (my $n = 1; ; $n++) { print "x" x 4096, "\\n$n blocks\\n" }';
  let began = performance.now();
  const until = (timeoutMs: number) => {
    began = performance.now();
    return of.runtime.exec(wanted.id, ["perl", "-e", program], { timeoutMs });
  };
  let { output, timedOut } = await until(1_000);
  // A busy machine takes longer than that to start it.
  for (let timeoutMs = 2_000; output === "" && timeoutMs < 100_000; timeoutMs *= 2)
    ({ output, timedOut } = await until(timeoutMs));
  const blocks = [...output.matchAll(/^(\d+) blocks$/gm)].at(-1)?.[1];
  assert.equal(timedOut, true);
  assert.ok(Number(blocks) > 1, output.slice(-100));
  const most = (performance.now() - began) / 100 + 10;
  assert.ok(Number(blocks) / 256 < most, `${blocks} blocks of 4 KiB in ${most} times 100 ms`);
  const last = await of.runtime.exec(wanted.id, ["sh", "-c", "head -c 3000000 /dev/zero; echo end"], {
    timeoutMs: 60_000,
  });
  assert.deepEqual([last.exitCode, last.output.slice(-4)], [0, "end\n"]);
  await of.runtime.stop(wanted.id, { graceMs: 0 });
});

test("a container goes also after runc was killed while it began a program in it", everyday(), async () => {
  const wanted = of.config("sleep 1000");
  await of.runtime.start(wanted);
  // What a `runc exec` leaves that is killed in the moment after this mount.
  const notes = join("/run/mooring", cgroupName(of.stateDir), "runc", wanted.id);
  const own = join(notes, "runc.Uzy87O");
  await writeFile(own, "");
  await createHost().mounts.bind(RUNC, own, { readOnly: true });
  await of.runtime.stop(wanted.id, { graceMs: 0 });
  assert.equal(of.runtime.get(wanted.id)?.state, "exited");
  assert.equal(existsSync(notes), false);
  assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), /runc\.Uzy87O/);
});

test(
  "what is installed on the machine while containers run is there for the next one",
  thorough(),
  async () => {
    const path = `/var/tmp/${of.stateDir.split("/").at(-1)}`;
    assert.equal((await of.runToEnd(of.config(`cat ${path}`))).status.exit?.code, 1);
    await writeFile(path, "installed\n");
    try {
      const deadline = Date.now() + 60_000;
      while ((await of.runToEnd(of.config(`cat ${path}`))).log !== "installed\n")
        assert.ok(Date.now() < deadline);
    } finally {
      await rm(path);
    }
  },
);

test(
  "a frozen pod stands still while another one works, and goes on when it is thawed",
  everyday(),
  async () => {
    // Written by the container itself: its log comes through a process that is not frozen.
    const worker = (file: string) =>
      of.config(`while :; do echo x >> /data/${file}; sleep 0.01; done`, {
        mounts: [{ source: of.stateDir, target: "/data", readOnly: false }],
      });
    const size = async (file: string) =>
      (await stat(join(of.stateDir, file)).catch(() => undefined))?.size ?? 0;
    const grows = async (file: string, by: number) => {
      const before = await size(file);
      await eventually(`${by} bytes more of ${file}`, async () => (await size(file)) >= before + by);
    };
    const [frozen, other] = [worker("frozen"), worker("unfrozen")];
    for (const each of [frozen, other]) await of.runtime.start(each);
    await grows("frozen", 2);
    await grows("unfrozen", 2);
    const thaw = await of.runtime.freeze(frozen.pod.uid);
    const before = await size("frozen");
    await grows("unfrozen", 40);
    assert.equal(await size("frozen"), before);
    await thaw();
    await grows("frozen", 2);
    for (const { id } of [frozen, other]) await of.runtime.stop(id, { graceMs: 1000 });
  },
);
