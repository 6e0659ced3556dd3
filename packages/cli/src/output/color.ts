import { styleText } from "node:util";

/** How a state is shown on a terminal. */
const STYLES = { ok: "green", waiting: "yellow", warn: "yellow", fail: "red", failed: "red" } as const;

/** Colors a text by a state, where an operator reads it: on a terminal, unless `NO_COLOR` (no-color.org) or `TERM=dumb` is set. */
export function colored(state: keyof typeof STYLES, text: string): string {
  if (process.stdout.isTTY !== true || !hasColors(process.env)) return text;
  // Node.js has rules of its own, other ones in each version: with CI set, for one, no colors on a terminal.
  return styleText(STYLES[state], text, { validateStream: false });
}

/** Whether the environment lets us write colors to a terminal. */
export function hasColors({ NO_COLOR = "", TERM }: NodeJS.ProcessEnv): boolean {
  return NO_COLOR === "" && TERM !== "dumb";
}
