// Loaded before a process's own modules (`--import`): its wall clock is as far off as the file says, as when an operator or
// NTP sets the clock of a machine. What only passes (timers, `performance`) goes on as it did, as the kernel's monotonic
// clock does.
import { readFileSync } from "node:fs";

const RealDate = Date;
const path = process.env.MOORING_TEST_CLOCK;
let offset = 0;

function read() {
  try {
    offset = Number(readFileSync(path, "utf8"));
  } catch {
    // No event has set it yet.
  }
}

if (path !== undefined) {
  read();
  setInterval(read, 20).unref();
  const now = () => RealDate.now() + offset;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
  });
}
