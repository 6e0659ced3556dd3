import { isStatus, type RestStore } from "@mooring/store";

/** A check of itself that an API server fails. */
interface Unready {
  /** `state-disk` */
  name: string;
  why: string;
  /** What an operator does about it. */
  next: string;
}

const NEXT: Readonly<Record<string, string>> = {
  "state-file":
    "stop Mooring, and put back the newest copy with `mooring state restore`; volumes' data is not touched",
  "state-disk-writes":
    "see the kernel's log of the state folder's disk (dmesg), and have it writable again: writes go on by themselves then. One that has given up is first checked by fsck, while Mooring is stopped",
  "state-disk-files":
    "remove files from the disk of the state folder (df -i): what waits goes on by itself then",
  "state-disk": "make room on the disk of the state folder; writes go on by themselves then",
};

/** What an API server says of itself that is wrong, such as a full disk below its state; nothing when it is ready. */
export async function unready(server: Pick<RestStore, "getText">): Promise<Unready[]> {
  try {
    await server.getText("/readyz");
    return [];
  } catch (error) {
    // What cannot be asked, or does not respond, is reported by the command that wants an object of it.
    if (!isStatus(error)) throw error;
    const failed = /^(?:the server responded with \d+: )?\[-\](\S+) failed(?:: (.*))?$/gm;
    return [...error.message.matchAll(failed)].map(([, name = "", why = "no reason given"]) => ({
      ...{ name, why },
      next: NEXT[name] ?? "read the log of the API server",
    }));
  }
}
