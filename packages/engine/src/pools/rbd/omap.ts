import { EngineError } from "../../errors.ts";
import type { RbdCommands } from "./commands.ts";

/** The exit code of `rados` for whatever goes wrong. */
const FAILED = 1;
const ENTRY = /^value \((\d+) bytes\) :$/;
const ROW = /^[0-9a-f]{8} {2}((?:[0-9a-f]{2} {1,2})+)/;

/**
 * Keys and values of `rados listomapvals`, which prints each value as a dump of its bytes. A value whose bytes are not all there (the
 * program leaves out rows that repeat) is left out.
 */
export function parseOmap(text: string): Map<string, string> {
  const values = new Map<string, string>();
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    const [, length] = ENTRY.exec(line) ?? [];
    const key = lines[index - 1];
    if (length === undefined || key === undefined) continue;
    const bytes: number[] = [];
    for (let at = index + 1; bytes.length < Number(length); at++) {
      const [, row] = ROW.exec(lines[at] ?? "") ?? [];
      if (row === undefined) break;
      for (const byte of row.trim().split(/ +/)) bytes.push(Number.parseInt(byte, 16));
    }
    if (bytes.length === Number(length)) values.set(key, Buffer.from(bytes).toString("utf8"));
  }
  return values;
}

/** Keys and values that an object of the pool has; empty where there is no such object. */
export async function readOmap(commands: RbdCommands, object: string): Promise<Map<string, string>> {
  const { exitCode, stdout, stderr } = await commands.rados(["listomapvals", object], { allow: [FAILED] });
  if (exitCode === 0) return parseOmap(stdout);
  if (/\(2\) No such file or directory/.test(stderr)) return new Map();
  throw new EngineError("UNAVAILABLE", `rados listomapvals ${object} failed: ${stderr.trim().slice(-200)}`);
}

/** The value that an object of the pool has for a key; undefined where it has none, or is not there. */
export async function readOmapValue(
  commands: RbdCommands,
  object: string,
  key: string,
): Promise<string | undefined> {
  const found = await commands.rados(["getomapval", object, key], { allow: [FAILED] });
  const { exitCode, stdout, stderr } = found;
  if (exitCode === 0) return parseOmap(`${key}\n${stdout}`).get(key);
  if (/No such key|\(2\) No such file or directory/.test(stdout + stderr)) return undefined;
  throw new EngineError(
    "UNAVAILABLE",
    `rados getomapval ${object} ${key} failed: ${stderr.trim().slice(-200)}`,
  );
}
