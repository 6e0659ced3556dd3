import { constants } from "node:os";

const FIRST_REAL_TIME = 34;
const LAST = 64;

/** Number of a signal as images name it: `SIGQUIT`, `QUIT`, `3`, `SIGRTMIN+3`. Undefined: Linux has none of that name. */
export function signalNumber(name: string): number | undefined {
  if (/^[0-9]{1,2}$/.test(name)) return inRange(Number(name));
  const short = name.toUpperCase().replace(/^SIG/, "");
  const real = /^RTMIN(?:\+([0-9]{1,2}))?$/.exec(short);
  if (real !== null) return inRange(FIRST_REAL_TIME + Number(real[1] ?? 0));
  return new Map<string, number>(Object.entries(constants.signals)).get(`SIG${short}`);
}

function inRange(number: number): number | undefined {
  return number >= 1 && number <= LAST ? number : undefined;
}
