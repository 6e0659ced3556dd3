import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, statfs, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CsiError, createServer, endpointFromEnvironment, type Services, v1 } from "@mooring/csi";

const run = promisify(execFile);
const Mode = v1.VolumeCapability_AccessMode_Mode;
const MODES: readonly number[] = [
  Mode.SINGLE_NODE_WRITER,
  Mode.SINGLE_NODE_READER_ONLY,
  Mode.SINGLE_NODE_SINGLE_WRITER,
  Mode.SINGLE_NODE_MULTI_WRITER,
];
const ID = /^vol-[0-9a-f]{32}$/;

/** Why these capabilities are not served; undefined when they are. */
function unsupported(all: readonly (v1.VolumeCapability | undefined)[]): string | undefined {
  if (all.some((each) => each?.accessType.case !== "mount")) return "only mounted volumes are served";
  const odd = all.find((each) => !MODES.includes(each?.accessMode?.mode ?? 0));
  return odd && "only the single-node access modes are served";
}

/** Where a volume is mounted, as the kernel has it. */
async function mountsOf(id: string): Promise<{ target: string; readOnly: boolean }[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").map((line) => line.split(" "));
  return lines
    .filter(([, , , source]) => source?.endsWith(`/${id}/data`))
    .map(([, , , , target = "", options = ""]) => ({
      target: target.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
      readOnly: options.split(",").includes("ro"),
    }));
}

/** A CSI driver whose volumes are directories below `root`; all it knows is what is there. */
export function directoryDriver(root: string, nodeId: string): Services {
  const data = (id: string): string => join(root, id, "data");
  const recordOf = (id: string): string => join(root, id, "record.json");

  /** What was asked for when the volume was made. An id of any other form never becomes a path. */
  async function find(id: string): Promise<{ capacityBytes: string; asked: string } | undefined> {
    const text = ID.test(id) ? await readFile(recordOf(id), "utf8").catch(() => undefined) : undefined;
    return text === undefined ? undefined : JSON.parse(text);
  }
  async function mustExist(id: string): Promise<void> {
    if ((await find(id)) === undefined) throw CsiError.notFound(`volume ${id} does not exist`);
  }

  const controller: Services["controller"] = {
    async createVolume({ name, capacityRange: range, volumeCapabilities, parameters, ...request }) {
      const problem = unsupported(volumeCapabilities);
      if (problem !== undefined) throw CsiError.invalidArgument(problem);
      if (request.volumeContentSource) throw CsiError.invalidArgument("volumes can only be made empty");
      // The id follows from the name, so that a repeated call finds what an earlier one made.
      const volumeId = `vol-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
      const capacityBytes = String(range?.requiredBytes || range?.limitBytes || 0n);
      const modes = volumeCapabilities.map(({ accessMode }) => accessMode?.mode).sort();
      const asked = JSON.stringify([String(range?.limitBytes), modes, Object.entries(parameters).sort()]);
      const before = await find(volumeId);
      if (before && (before.capacityBytes !== capacityBytes || before.asked !== asked)) {
        throw CsiError.alreadyExists(`volume ${name} exists with another size, other modes or parameters`);
      }
      await mkdir(data(volumeId), { recursive: true });
      // The record comes last and at once: a volume without one does not exist, and is made again.
      await writeFile(`${recordOf(volumeId)}.new`, JSON.stringify({ capacityBytes, asked }));
      await rename(`${recordOf(volumeId)}.new`, recordOf(volumeId));
      return { volume: { volumeId, capacityBytes: BigInt(capacityBytes) } };
    },
    async deleteVolume({ volumeId }) {
      if (!ID.test(volumeId)) return {};
      const [mount] = await mountsOf(volumeId);
      if (mount) throw CsiError.failedPrecondition(`${volumeId} is in use at ${mount.target}`);
      await rm(join(root, volumeId), { recursive: true, force: true });
      return {};
    },
    async validateVolumeCapabilities({ volumeId, volumeCapabilities }) {
      await mustExist(volumeId);
      const message = unsupported(volumeCapabilities);
      return message === undefined ? { confirmed: { volumeCapabilities } } : { message };
    },
    async listVolumes({ maxEntries, startingToken }) {
      if (startingToken !== "" && !ID.test(startingToken)) throw CsiError.aborted("not a token of mine");
      const all = (await readdir(root)).filter((id) => ID.test(id) && id > startingToken).sort();
      const page = maxEntries > 0 ? all.slice(0, maxEntries) : all;
      const found = await Promise.all(page.map(async (id) => ({ id, record: await find(id) })));
      const entries = found.flatMap(({ id, record }) =>
        record ? [{ volume: { volumeId: id, capacityBytes: BigInt(record.capacityBytes) } }] : [],
      );
      return { entries, nextToken: page.length < all.length ? (page.at(-1) ?? "") : "" };
    },
  };

  const node: Services["node"] = {
    nodeGetInfo: () => ({ nodeId }),
    async nodePublishVolume({ volumeId, targetPath, volumeCapability, readonly }) {
      await mustExist(volumeId);
      const problem = unsupported([volumeCapability]);
      if (problem !== undefined) throw CsiError.invalidArgument(problem);
      const mode = volumeCapability?.accessMode?.mode;
      const readOnly = readonly || mode === Mode.SINGLE_NODE_READER_ONLY;
      const mounts = await mountsOf(volumeId);
      const here = mounts.find(({ target }) => target === targetPath);
      if (here?.readOnly === readOnly) return {};
      if (here) throw CsiError.alreadyExists(`${targetPath} is published with another readonly`);
      if (mounts[0] && mode !== Mode.SINGLE_NODE_MULTI_WRITER) {
        throw CsiError.failedPrecondition(`${volumeId} is in use at ${mounts[0].target}`);
      }
      await mkdir(targetPath, { recursive: true });
      await run("mount", ["--bind", "-o", readOnly ? "ro" : "rw", "--", data(volumeId), targetPath]);
      return {};
    },
    async nodeUnpublishVolume({ volumeId, targetPath }) {
      await mustExist(volumeId);
      const mounted = (await mountsOf(volumeId)).some(({ target }) => target === targetPath);
      if (mounted) await run("umount", ["--", targetPath]);
      await rmdir(targetPath).catch(() => {}); // never recursive: what is in there is a user's
      return {};
    },
    async nodeGetVolumeStats({ volumeId, volumePath }) {
      await mustExist(volumeId);
      const mounted = (await mountsOf(volumeId)).some(({ target }) => target === volumePath);
      if (!mounted) throw CsiError.notFound(`${volumeId} is not published at ${volumePath}`);
      const { bsize, blocks, bavail, bfree } = await statfs(volumePath, { bigint: true });
      const [total, available, used] = [blocks * bsize, bavail * bsize, (blocks - bfree) * bsize];
      return { usage: [{ unit: v1.VolumeUsage_Unit.BYTES, total, available, used }] };
    },
  };
  const getPluginInfo = () => ({ name: "minimal.example.com", vendorVersion: "1.0.0" });
  return { identity: { getPluginInfo }, controller, node };
}

/** Serves the driver: `CSI_ENDPOINT=unix:///run/csi.sock VOLUMES=/srv/volumes npm start`. */
export async function serve(endpoint: string, root: string, nodeId = hostname()) {
  await mkdir(root, { recursive: true });
  const more = ["SINGLE_NODE_MULTI_WRITER"] as const;
  const server = createServer(directoryDriver(root, nodeId), {
    endpoint,
    capabilities: { controller: more, node: more },
  });
  await server.start();
  return server;
}

if (process.argv[1] === import.meta.filename) {
  const server = await serve(endpointFromEnvironment(), process.env.VOLUMES ?? "/srv/volumes");
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.stop());
}
