import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../../runtime/eventually.ts";

const run = promisify(execFile);
const END_MS = 5000;
/** A command to a cluster that has nothing to do takes about one second. */
const SETUP_MS = 30_000;
const COMMAND_MS = 60_000;
/** A monitor that is being set up has stopped responding for good, once in some hundred times (16.2). */
const TRIES = 3;
const LOG_LINES = 40;
/** Ports above the monitor's from which the other daemons take theirs. */
const PORTS = 60;

/** A Ceph cluster of one host: a monitor, a manager, and an OSD whose disk is a sparse file. */
export interface CephCluster {
  /** Path of its configuration file, which names no key. */
  conf: string;
  /** A user who may do what RBD clients do, and nothing else; and the file with its key, which only root can read. */
  user: string;
  keyring: string;
  /** The name of its pool for images. */
  pool: string;
  /** Runs `ceph`, `rbd` or `rados` as its administrator; resolves to what it prints. */
  admin(program: "ceph" | "rbd" | "rados", ...args: string[]): Promise<string>;
  /** An RBD namespace of its own for a test. */
  namespace(): Promise<string>;
  /** What nodes are given to share such a namespace as a pool. */
  rbdPool(): Promise<RbdPool>;
  /** Stops its OSD in mid-work: clients that read or write wait. The returned function lets it go on. */
  silence(): () => Promise<void>;
}

/** The configuration file of a Ceph cluster, and what is a pool in it. */
export interface RbdPool {
  conf: string;
  spec: { user: string; keyring: string; pool: string; namespace: string };
}

/**
 * For a test file: what it returns starts the file's one cluster when that is first asked for. To be called at the top of
 * the file, because a hook that is made while a test runs is that test's.
 */
export function cephOfFile(after: (undo: () => Promise<void>) => void): () => Promise<CephCluster> {
  let undo = async (): Promise<void> => {};
  after(() => undo());
  let starting: Promise<CephCluster> | undefined;
  return () => {
    starting ??= startCeph((made) => {
      undo = made;
    });
    return starting;
  };
}

/**
 * Starts one, until `after` runs what it is given. Everything is below a folder of its own, and listens on one address
 * only: the loopback's, unless other kernels are to reach it.
 * @throws with what the last one's monitor has logged, when none of some could be set up
 */
export async function startCeph(
  after: (undo: () => Promise<void>) => void,
  { address = "127.0.0.1" }: { address?: string } = {},
): Promise<CephCluster> {
  const undone: (() => Promise<void>)[] = [];
  after(async () => {
    await Promise.all(undone.map((undo) => undo()));
  });
  for (let left = TRIES - 1; ; left--) {
    const folder = await mkdtemp(join(tmpdir(), "mooring-ceph-"));
    const daemons: ChildProcess[] = [];
    const undo = async (): Promise<void> => {
      await Promise.all(daemons.map(end));
      await rm(folder, { recursive: true, force: true });
    };
    undone.push(undo);
    const cluster = new Cluster(folder, daemons, address);
    try {
      await cluster.start();
      return cluster;
    } catch (cause) {
      const log = await lastLines(join(folder, "mon.a.log"));
      await undo();
      if (left === 0)
        throw new Error(`the Ceph cluster cannot be set up; its monitor's log ends:\n${log}`, { cause });
    }
  }
}

class Cluster implements CephCluster {
  readonly conf: string;
  readonly keyring: string;
  readonly user = "mooring";
  readonly pool = "images";
  readonly #folder: string;
  readonly #daemons: ChildProcess[];
  readonly #adminConf: string;
  #limitMs = SETUP_MS;
  readonly #address: string;

  constructor(folder: string, daemons: ChildProcess[], address: string) {
    this.#folder = folder;
    this.#daemons = daemons;
    this.#address = address;
    this.#adminConf = join(folder, "admin.conf");
    this.conf = join(folder, "ceph.conf");
    this.keyring = join(folder, "mooring.keyring");
  }

  async start(): Promise<void> {
    const path = (name: string): string => join(this.#folder, name);
    const [fsid, osd, port] = [randomUUID(), randomUUID(), await freePort(this.#address)];
    const monitor = `[v2:${this.#address}:${port}]`;
    const cluster = `[global]\nfsid = ${fsid}\nmon_host = ${monitor}\n`;
    await writeFile(this.conf, cluster);
    await writeFile(
      this.#adminConf,
      cluster + settings({ folder: this.#folder, address: this.#address, port }),
    );
    for (const name of ["mon", "mgr", "osd"]) await mkdir(path(name));
    const keys = path("admin.keyring");
    const all = ["--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *"];
    await run("ceph-authtool", ["--create-keyring", keys, "--gen-key", "--name", "client.admin", ...all]);
    await run("ceph-authtool", [keys, "--gen-key", "--name", "mon.", "--cap", "mon", "allow *"]);
    await run("monmaptool", ["--create", "--fsid", fsid, "--addv", "a", monitor, path("monmap")]);
    await run("ceph-mon", this.#with("a", "--mkfs", "--monmap", path("monmap"), "--keyring", keys));
    this.#daemon("ceph-mon", "a");
    const rbd = ["mon", "profile rbd", "osd", "profile rbd", "mgr", "profile rbd"];
    await eventually("the monitor", () =>
      this.admin("ceph", "--connect-timeout", "2", "fsid").catch(() => undefined),
    );
    await this.admin("ceph", "auth", "get-or-create", `client.${this.user}`, ...rbd, "-o", this.keyring);
    await chmod(this.keyring, 0o600);
    await this.admin(
      "ceph",
      "auth",
      "get-or-create",
      "mgr.x",
      "mon",
      "profile mgr",
      "osd",
      "allow *",
      "-o",
      path("mgr/keyring"),
    );
    this.#daemon("ceph-mgr", "x", "--keyring", path("mgr/keyring"));
    await this.#startOsd(osd, path("osd/keyring"));
    await this.admin("ceph", "osd", "pool", "create", this.pool, "8", "8");
    await this.admin("rbd", "pool", "init", this.pool);
    await eventually("the cluster to report its room", async () => {
      const { pools } = JSON.parse(await this.admin("ceph", "df", "--format", "json")) as {
        pools: { stats: { max_avail: number } }[];
      };
      return (pools[0]?.stats.max_avail ?? 0) > 0;
    });
    this.#limitMs = COMMAND_MS;
  }

  async #startOsd(uuid: string, keyring: string): Promise<void> {
    await run("ceph-authtool", ["--create-keyring", keyring, "--gen-key", "--name", "osd.0"]);
    const secret = /key = (\S+)/.exec(await readFile(keyring, "utf8"))?.[1];
    const file = join(this.#folder, "osd.json");
    await writeFile(file, JSON.stringify({ cephx_secret: secret }), { mode: 0o600 });
    await this.admin("ceph", "osd", "new", uuid, "-i", file);
    await run("ceph-osd", this.#with("0", "--mkfs", "--osd-uuid", uuid, "--keyring", keyring));
    this.#daemon("ceph-osd", "0", "--keyring", keyring);
  }

  #with(id: string, ...args: string[]): string[] {
    return ["--conf", this.#adminConf, "--id", id, ...args];
  }

  /** In the foreground, and gone with this process, however that ends. */
  #daemon(program: string, id: string, ...args: string[]): void {
    const all = ["--pdeathsig", "KILL", program, ...this.#with(id, "-f", ...args)];
    this.#daemons.push(spawn("setpriv", all, { stdio: "ignore" }));
  }

  async admin(program: "ceph" | "rbd" | "rados", ...args: string[]): Promise<string> {
    const whole = ["--conf", this.#adminConf, ...args];
    return (await run(program, whole, { timeout: this.#limitMs })).stdout;
  }

  async namespace(): Promise<string> {
    const name = `test-${randomUUID().slice(0, 8)}`;
    await this.admin("rbd", "namespace", "create", `${this.pool}/${name}`);
    return name;
  }

  async rbdPool(): Promise<RbdPool> {
    const { conf, user, keyring, pool } = this;
    return { conf, spec: { user, keyring, pool, namespace: await this.namespace() } };
  }

  silence(): () => Promise<void> {
    const osd = this.#daemons.at(-1);
    let isSilent = osd?.kill("SIGSTOP") === true;
    return async () => {
      if (!isSilent) return;
      isSilent = false;
      osd?.kill("SIGCONT");
      // Where there are others they report it down meanwhile. Alone it would keep waiting, for leases that ran out as it
      // stood still.
      await this.admin("ceph", "osd", "down", "0");
    };
  }
}

/** For a machine on which a test is all there is: little memory, no copies, no checks of free space. */
function settings({ folder, address, port }: { folder: string; address: string; port: number }): string {
  const rows: Record<string, string | number> = {
    public_addr: address,
    cluster_addr: address,
    ms_bind_port_min: port + 1,
    ms_bind_port_max: port + PORTS,
    keyring: join(folder, "admin.keyring"),
    run_dir: folder,
    admin_socket: join(folder, "$name.$pid.asok"),
    log_file: join(folder, "$name.log"),
    pid_file: "",
    mon_data: join(folder, "mon"),
    mgr_data: join(folder, "mgr"),
    osd_data: join(folder, "osd"),
    mon_allow_pool_size_one: "true",
    mon_data_avail_warn: 1,
    mon_data_avail_crit: 1,
    osd_pool_default_size: 1,
    osd_pool_default_min_size: 1,
    osd_pool_default_pg_num: 8,
    osd_pool_default_pg_autoscale_mode: "off",
    osd_crush_chooseleaf_type: 0,
    osd_objectstore: "bluestore",
    bluestore_block_size: 10 * 1024 ** 3,
    // The check of what mkfs has just made has ended with an assertion (16.2), and there is nothing in it yet.
    bluestore_fsck_on_mkfs: "false",
    bluestore_cache_autotune: "false",
    bluestore_cache_size: 128 * 1024 ** 2,
    osd_memory_target: 896 * 1024 ** 2,
    paxos_propose_interval: 0.05,
    mgr_initial_modules: "",
    mgr_tick_period: 1,
    mgr_stats_period: 1,
    // One that was late on a busy machine counted as gone, and did not come back.
    mon_mgr_beacon_grace: 600,
  };
  return Object.entries(rows)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join("");
}

/** One that is free now; the daemons try the ones above it one by one. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address === "object" && address !== null && address.port < 65_535 - PORTS) return address.port;
  return freePort(host);
}

async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((error: unknown) => String(error));
  return text.split("\n").slice(-LOG_LINES).join("\n");
}

async function end(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const ended = once(daemon, "exit");
  daemon.kill("SIGCONT");
  daemon.kill("SIGTERM");
  const hard = setTimeout(() => daemon.kill("SIGKILL"), END_MS);
  await ended;
  clearTimeout(hard);
}
