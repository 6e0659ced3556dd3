import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

/** What a guest's kernel prints once it can trace its programs, which is how it runs them. */
const TRACES = "Checking that ptrace can change system call numbers...OK";
/** A machine that does much else takes seconds for it. */
const PATIENCE_MS = 60_000;

/** Why no guest can run on machines like this one, whatever is installed; undefined: nothing is known to be in the way. */
export function whyNoGuests({ arch = process.arch, tun = "/dev/net/tun" } = {}) {
  if (arch !== "x64") return `User Mode Linux runs on x86_64 only; this is ${arch}`;
  if (!existsSync(tun)) return `${tun} is missing, by which guests are connected (modprobe tun)`;
  return undefined;
}

/** Why a guest's kernel does not run here, as it says itself; undefined: it runs. */
export function whyNoKernel(program = "linux.uml") {
  const root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/true"];
  const kernel = spawn(program, ["mem=64M", "con=null", "con0=fd:0,fd:1", ...root], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
    detached: true,
    env: { ...process.env, TMPDIR: "/dev/shm" },
  });
  let text = "";
  let runs = false;
  for (const stream of [kernel.stdout, kernel.stderr])
    stream.setEncoding("utf8").on("data", (more) => {
      text += more;
      if (runs || !text.includes(TRACES)) return;
      runs = true;
      // Its programs are processes of the same group.
      process.kill(-kernel.pid, "SIGKILL");
    });
  return new Promise((resolve) => {
    kernel.on("error", ({ message }) => resolve(message));
    kernel.on("close", () => {
      const last = text.trim().split("\n").at(-1) ?? "";
      resolve(runs ? undefined : `User Mode Linux cannot trace its programs (ptrace) here: ${last}`);
    });
  });
}
