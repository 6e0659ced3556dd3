import { readFileSync } from "node:fs";

/** Processor time that the calling thread has had, in milliseconds: a busy machine does not change it. */
export function threadMs(): number {
  const [nanoseconds = "0"] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}
