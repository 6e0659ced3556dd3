import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@mooring/store/testing";

const run = promisify(execFile);
const VERSIONS = "/usr/lib/postgresql";

/** Folder of Debian's newest PostgreSQL; undefined when none is installed. */
export function postgresqlFolder(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const folders = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a));
  return folders
    .map((version) => join(VERSIONS, version, "bin"))
    .find((folder) => ["postgres", "pgbench", "pg_amcheck"].every((name) => existsSync(join(folder, name))));
}

/** Small enough to be quick, with checkpoints and recycled log files all the time. */
const SETTINGS = `
listen_addresses = ''
shared_buffers = 32MB
max_wal_size = 48MB
min_wal_size = 32MB
checkpoint_timeout = 30s
`;

interface Identity {
  uid: number;
  gid: number;
}

async function identity(): Promise<Identity> {
  const number = async (flag: string) => Number((await run("id", [flag, "postgres"])).stdout);
  return { uid: await number("-u"), gid: await number("-g") };
}

interface Folders {
  data: string;
  wal: string;
  sockets: string;
}

/** One PostgreSQL with its data and its log in two folders, which may be two volumes. */
export class Postgresql {
  readonly #bin: string;
  readonly #who: Identity;
  readonly #data: string;
  readonly #wal: string;
  readonly #sockets: string;
  #server: ChildProcess | undefined;
  /** What the server wrote. */
  log = "";

  private constructor(bin: string, who: Identity, { data, sockets, wal }: Folders) {
    this.#bin = bin;
    this.#who = who;
    this.#data = join(data, "pgdata");
    this.#wal = join(wal, "pg_wal");
    this.#sockets = sockets;
  }

  /** `bin` from {@link postgresqlFolder}; `sockets`: a folder that may be made, with a short path. */
  static async at(bin: string, data: string, wal: string, sockets: string): Promise<Postgresql> {
    const who = await identity();
    const server = new Postgresql(bin, who, { data, wal, sockets });
    await mkdir(sockets, { recursive: true });
    for (const folder of [data, wal, sockets]) await run("chown", [`${who.uid}:${who.gid}`, folder]);
    return server;
  }

  /** Makes a new cluster. */
  async init(): Promise<void> {
    const where = ["-D", this.#data, "-X", this.#wal];
    await this.#run("initdb", [...where, "--auth=trust", "--no-locale", "-E", "UTF8", "-U", "postgres"]);
    const file = join(this.#data, "postgresql.conf");
    await writeFile(file, (await readFile(file, "utf8")) + SETTINGS, { flush: true });
  }

  /** Fits a copy of both volumes together: the log is at another place, and the lock is of another process. */
  async adopt(): Promise<void> {
    await rm(join(this.#data, "postmaster.pid"), { force: true });
    await rm(join(this.#data, "pg_wal"), { force: true });
    await symlink(this.#wal, join(this.#data, "pg_wal"));
  }

  /** Resolves when it responds; rejects with its log when it ends instead. */
  async start(): Promise<void> {
    const args = ["-D", this.#data, "-k", this.#sockets];
    const server = spawn(join(this.#bin, "postgres"), args, {
      ...this.#who,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#server = server;
    for (const stream of [server.stdout, server.stderr])
      stream.on("data", (chunk: Buffer) => {
        this.log += chunk.toString();
      });
    await eventually("PostgreSQL to respond", async () => {
      if (server.exitCode !== null || server.signalCode !== null) throw new Error(this.log);
      return this.query("SELECT 1").then(
        () => true,
        () => undefined,
      );
    });
  }

  /** Immediate: as if the power had gone. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGQUIT");
    await ended;
  }

  async query(sql: string): Promise<string> {
    return (await this.#run("psql", [...this.#target(), "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql])).trim();
  }

  /** Fills the tables of pgbench. */
  async fill(scale: number): Promise<void> {
    await this.#run("pgbench", [...this.#target(), "-q", "-i", "-s", String(scale), "postgres"]);
  }

  /** Checks every table and index; throws with what is corrupt. */
  async amcheck(): Promise<void> {
    const all = ["--install-missing", "--heapallindexed", "--database=postgres"];
    await this.#run("pg_amcheck", [...this.#target(), ...all]);
  }

  /** pgbench until the returned function is called, as fast as it can. */
  bench(clients: number): () => Promise<void> {
    const args = [...this.#target(), "-n", "-c", String(clients), "-T", "100000", "postgres"];
    const child = spawn(join(this.#bin, "pgbench"), args, { ...this.#who, stdio: "ignore" });
    return () => endOf(child);
  }

  /** Commits row after row into `commits`, each when the one before is acknowledged. */
  async commit(): Promise<{ acknowledged(): number; stop(): Promise<void> }> {
    await this.query("CREATE TABLE IF NOT EXISTS commits (n int PRIMARY KEY)");
    const args = ["-oL", join(this.#bin, "psql"), ...this.#target(), "-qAtX", "-v", "ON_ERROR_STOP=1"];
    const child = spawn("stdbuf", args, { ...this.#who, stdio: ["pipe", "pipe", "inherit"] });
    let last = 0;
    const next = () => child.stdin.write(`INSERT INTO commits VALUES (${last + 1});\n\\echo ${last + 1}\n`);
    child.stdin.on("error", () => {});
    child.stdout.on("data", (chunk: Buffer) => {
      last = Number(chunk.toString().trim());
      next();
    });
    next();
    await eventually("the first commit", async () => last > 0);
    return { acknowledged: () => last, stop: () => endOf(child) };
  }

  #target(): string[] {
    return ["-h", this.#sockets, "-U", "postgres"];
  }

  async #run(command: string, args: string[]): Promise<string> {
    const options = { ...this.#who, cwd: "/", maxBuffer: 16 << 20 };
    return (await run(join(this.#bin, command), args, options)).stdout;
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
