import { readFileSync } from "node:fs";
import type { MountEntry } from "./host.ts";

/**
 * Reads this process's mounts. Callers that come before the reading begins share it, so none gets a result that is older
 * than the request; and the same text is parsed once. Synchronous: the kernel reads it from memory.
 */
export function mountinfoReader(): () => Promise<MountEntry[]> {
  let reading: Promise<MountEntry[]> | undefined;
  let lastText: string | undefined;
  let lastEntries: MountEntry[] = [];
  const read = (): MountEntry[] => {
    reading = undefined;
    const text = readFileSync("/proc/self/mountinfo", "utf8");
    if (text !== lastText) {
      lastEntries = parseMountinfo(text);
      lastText = text;
    }
    return lastEntries;
  };
  return async () => {
    reading ??= new Promise<void>((resolve) => setImmediate(resolve)).then(read);
    return [...(await reading)];
  };
}

/**
 * Parses /proc/PID/mountinfo (proc(5)): `36 35 98:0 /root /target opts [optional...] - type source superopts`.
 * Lines that do not have this shape are left out.
 */
export function parseMountinfo(text: string): MountEntry[] {
  return text.split("\n").flatMap((line) => {
    const entry = parseLine(line);
    return entry === undefined ? [] : [entry];
  });
}

function parseLine(line: string): MountEntry | undefined {
  const fields = line.split(" ");
  const separator = fields.indexOf("-", 6);
  const [id, parentId, device, root, target, options] = fields;
  const [fsType, source, superOptions] = fields.slice(separator + 1);
  if (separator < 0 || device === undefined || root === undefined || target === undefined) return undefined;
  return {
    id: Number(id),
    parentId: Number(parentId),
    device,
    root: unescapeOctal(root),
    target: unescapeOctal(target),
    options: (options ?? "").split(","),
    fsType: fsType ?? "",
    source: unescapeOctal(source ?? ""),
    superOptions: (superOptions ?? "").split(","),
  };
}

/** The kernel writes space, tab, newline and backslash as `\040`, one escape per byte. */
export function unescapeOctal(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
