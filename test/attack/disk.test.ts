import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { eventually, thorough } from "@mooring/store/testing";
import { world } from "../support/world.ts";

const { up, kubectl, shows, gone } = await world();

interface Shape {
  script: string;
  limits?: Record<string, string>;
  volume?: object;
}

async function apply(name: string, { script, limits, volume }: Shape): Promise<void> {
  const volumes = volume === undefined ? [] : [{ name: "volume", ...volume }];
  const main = {
    name: "main",
    image: "host",
    command: ["sh", "-c", script],
    volumeMounts: volumes.map((each) => ({ name: each.name, mountPath: "/volume" })),
    resources: { limits },
  };
  const spec = { restartPolicy: "Never", terminationGracePeriodSeconds: 0, containers: [main], volumes };
  await kubectl.apply(JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec }));
}

/** Of the machine's disk, in MiB, by what of Mooring's the pod writes to. */
async function diskUse(name: string, ...folder: string[]): Promise<number> {
  const uid = await kubectl.run("get", "pod", name, "-o", "jsonpath={.metadata.uid}");
  const root = join(up.stateDir, "kubelet", ...folder);
  const own = (await readdir(root)).filter((each) => each.includes(uid)).map((each) => join(root, each));
  assert.equal(own.length, 1, `${own}`);
  const { stdout } = await promisify(execFile)("du", ["--summarize", "--block-size=1M", ...own]);
  return Number(stdout.split("\t")[0]);
}

/** Deletes the pod, and waits until nothing of it is left. */
async function leaves(name: string): Promise<void> {
  const uid = await kubectl.run("get", "pod", name, "-o", "jsonpath={.metadata.uid}");
  await kubectl.run("delete", "pod", name, "--wait=false");
  await gone("pod", name);
  const left = () => readdir(join(up.stateDir, "kubelet/pods"));
  await eventually(`folder of ${name} to be gone`, async () => !(await left()).includes(uid), {
    lastSeen: left,
  });
}

/** Whether the old part of the pod's log is gone. */
async function isTrimmed(name: string): Promise<boolean> {
  const uid = await kubectl.run("get", "pod", name, "-o", "jsonpath={.metadata.uid}");
  const folder = join(up.stateDir, "kubelet/logs/pods", `default_${name}_${uid}`, "main");
  return (await readdir(folder)).includes("0.log.begin");
}

/** Numbers of the system calls mmap and read. */
const [MMAP, READ] = process.arch === "arm64" ? [222, 63] : [9, 0];
const LOG = "/proc/self/fd/1";
const LOGS: Readonly<Record<string, string>> = {
  // What is measured is a size that was there before.
  truncated: `truncate -s 10T ${LOG}; until [ -e /volume/go ]; do sleep 0.1; done; truncate -s 0 ${LOG}; head -c 180M /dev/zero`,
  reserved: `fallocate --keep-size --length 300M ${LOG}; echo more`,
  // read(2) into a file that is mapped: no watch reports it.
  "written in memory": `perl -e 'open(my $log, "+<", "${LOG}") or die; truncate($log, 180 << 20) or die; open(my $zeros, "<", "/dev/zero") or die;
my $at = syscall(${MMAP}, 0, 180 << 20, 3, 1, fileno($log), 0); syscall(${READ}, fileno($zeros), $at, 180 << 20) == 180 << 20 or die'`,
};

for (const [way, script] of Object.entries(LOGS)) {
  test(`a log that is ${way} takes no more of the disk than any other`, thorough(), async () => {
    const name = `log-${way.replaceAll(" ", "-")}`;
    await apply(name, { script: `${script}; touch /volume/done; sleep 1000`, volume: { emptyDir: {} } });
    await shows(["pod", name], "{.status.phase}", "Running");
    if (way === "truncated") {
      await eventually("log to be trimmed", () => isTrimmed(name));
      await kubectl.run("exec", name, "--", "touch", "/volume/go");
    }
    await kubectl.run("exec", name, "--", "sh", "-c", "until [ -e /volume/done ]; do sleep 0.1; done");
    const use = () => diskUse(name, "logs", "pods");
    await eventually("log to be trimmed", async () => (await use()) <= 65, { lastSeen: use });
    await kubectl.run("delete", "pod", name, "--wait=false");
  });
}

test("a container that reserves room while it writes its log loses no line of it", thorough(), async () => {
  // Lines without a pause, and room past the end again and again: each time it is given back, some are being written.
  const script = `perl -e '$| = 1; my $line = 0; my $pad = "x" x 60;
while ($line < 300000) { system "fallocate --keep-size --offset 200M --length 80M ${LOG}" if $line % 20000 == 0; $line += 1; syswrite STDOUT, "$line $pad\\n" }
syswrite STDOUT, "end\\n"'; sleep 1000`;
  await apply("lines", { script });
  await shows(["pod", "lines"], "{.status.phase}", "Running");
  await eventually("all lines to be written", async () =>
    (await kubectl.run("logs", "lines", "--tail=1")).startsWith("end"),
  );
  assert.equal(await isTrimmed("lines"), true);
  const lines = (await kubectl.run("logs", "lines")).trimEnd().split("\n").slice(0, -1);
  const first = Number(lines[0]?.split(" ")[0]);
  const wrong = lines.findIndex((line, index) => line !== `${first + index} ${"x".repeat(60)}`);
  assert.equal(wrong, -1, `after line ${first + wrong - 1} comes ${JSON.stringify(lines[wrong])}`);
  await kubectl.run("delete", "pod", "lines", "--wait=false");
});

test(
  "a termination message takes no more of the disk than it may, and counts for the pod's limit",
  thorough(),
  async () => {
    const message = "/dev/termination-log";
    await apply("message", { script: `head -c 100M /dev/zero >${message}; echo written; sleep 1000` });
    await shows(["pod", "message"], "{.status.phase}", "Running");
    await eventually("message to be written", async () =>
      (await kubectl.run("logs", "message")).includes("written"),
    );
    const use = () => diskUse("message", "runtime", "containers");
    await eventually("message to be trimmed", async () => (await use()) <= 2, { lastSeen: use });
    const limits = { "ephemeral-storage": "100Ki" };
    await apply("message-limit", { script: `head -c 500K /dev/zero >${message}; sleep 1000`, limits });
    await shows(["pod", "message-limit"], "{.status.reason}", "Evicted");
    await kubectl.run("delete", "pod", "message", "message-limit", "--wait=false");
  },
);

test("folders that are nested deeper than a path can say go with their pod", thorough(), async () => {
  const nest = `perl -e 'chdir "/volume" or die; my $n = "d" x 200; for (1 .. 100) { mkdir $n; chdir $n or die } print "nested\n"'`;
  await apply("deep", { script: `${nest}; sleep 1000`, volume: { emptyDir: {} } });
  await shows(["pod", "deep"], "{.status.phase}", "Running");
  await eventually("folders to be made", async () => (await kubectl.run("logs", "deep")).includes("nested"));
  await leaves("deep");
});

test("a volume of memory is no larger than what the pod's containers may have", thorough(), async () => {
  const medium = { emptyDir: { medium: "Memory", sizeLimit: "0" } };
  const script = "stat --file-system --format '%b %S' /volume; sleep 1000";
  await apply("memory", { script, limits: { memory: "48Mi" }, volume: medium });
  await shows(["pod", "memory"], "{.status.phase}", "Running");
  const log = () => kubectl.run("logs", "memory");
  const size = await eventually(
    "size of the volume",
    async () => /^(\d+) (\d+)\n$/.exec(await log()) ?? undefined,
  );
  assert.equal(Number(size[1]) * Number(size[2]), 48 * 1024 * 1024);
  // Before the machine goes that has it mounted.
  await leaves("memory");
});
