import { open } from "node:fs/promises";

/** What one client has asked of an API server. */
export interface Requests {
  writes: number;
  /** Gets and lists; watches are none. */
  reads: number;
  /** `12 create persistentvolumes`, most first. */
  table: string;
}

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection"]);
const READS = new Set(["get", "list"]);
/**
 * A leader renews its lease every few seconds, whatever there is to do, and a cluster without these kinds is asked every half
 * minute whether it has them now.
 */
const ASIDE = new Set(["leases", "selfsubjectaccessreviews", "referencegrants", "volumepopulators"]);

interface Entry {
  user?: { username?: string };
  verb: string;
  objectRef?: { resource?: string; subresource?: string };
}

/** Reads an audit log, from where it was read last. */
export class AuditLog {
  readonly #path: string;
  readonly #user: string;
  #at = 0;
  #rest = "";
  readonly #counts = new Map<string, number>();

  constructor(path: string, user: string) {
    this.#path = path;
    this.#user = user;
  }

  /** What the user has asked since {@link take}. */
  async read(): Promise<Requests> {
    for (const line of await this.#newLines()) this.#count(JSON.parse(line) as Entry);
    const all = [...this.#counts].sort((a, b) => b[1] - a[1]);
    const sum = (verbs: ReadonlySet<string>) =>
      all.reduce((total, [what, count]) => total + (verbs.has(what.split(" ")[0] ?? "") ? count : 0), 0);
    const table = all.map(([what, count]) => `${count} ${what}`).join(", ");
    return { writes: sum(WRITES), reads: sum(READS), table };
  }

  async take(): Promise<Requests> {
    const requests = await this.read();
    this.#counts.clear();
    return requests;
  }

  #count({ user, verb, objectRef: { resource = "", subresource } = {} }: Entry): void {
    if (user?.username !== this.#user || ASIDE.has(resource) || !(WRITES.has(verb) || READS.has(verb)))
      return;
    const what = `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`;
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  async #newLines(): Promise<string[]> {
    const file = await open(this.#path);
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(size - this.#at);
      await file.read(bytes, 0, bytes.length, this.#at);
      this.#at = size;
      const lines = (this.#rest + bytes.toString("latin1")).split("\n");
      this.#rest = lines.pop() ?? "";
      return lines.filter((line) => line !== "");
    } finally {
      await file.close();
    }
  }
}
