import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Exec, ExecResult } from "@mooring/engine";
import { defined, within } from "@mooring/store";
import { whileRoom } from "./disk-room.ts";
import { pinLayout, requireFewLayers, taggedDigest } from "./pinned-layout.ts";
import type { ImageReference } from "./reference.ts";

type Remote = Extract<ImageReference, { kind: "layout" | "registry" }>;

interface PullOptions {
  exec: Exec;
  /** File with the credentials of registries, as `docker login` writes it. */
  authFile: string;
  signal: AbortSignal;
}

/** Of a whole command: an image of gigabytes over a slow line. */
const LIMIT = "30m";
/** The same in milliseconds, after which the command is killed: skopeo does not see its own limit while it opens a pipe. */
const LIMIT_MS = 30 * 60_000;
const LAYOUT = "layout";
const PINNED = "pinned";
const MESSAGE_CHARACTERS = 500;
const CONFIG_BYTES = 4 * 1024 * 1024;

/** Digest of what the name stands for now. */
export async function digestOf(image: Remote, options: PullOptions): Promise<string> {
  if (image.kind === "layout")
    return taggedDigest(image.path, image.tag).catch((error: unknown) => {
      throw named(image, error);
    });
  const args = ["inspect", "--no-tags", "--format", "{{.Digest}}", ...accessTo(image, options, "")];
  const { stdout } = await skopeo([...args, sourceOf(image)], image, options);
  const digest = stdout.trim();
  if (!/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new Error(`skopeo named no digest of ${nameOf(image)}: ${digest}`);
  return digest;
}

/**
 * Brings an image, by its digest, into `folder`: its root file system into `folder/rootfs`. Returns the JSON of its
 * configuration. skopeo compares every byte with the digest, umoci keeps what it unpacks in the folder.
 */
export async function fetchImage(
  image: Remote,
  digest: string,
  folder: string,
  options: PullOptions,
): Promise<string> {
  const config = await whileRoom(folder, options.signal, (signal) =>
    copyAndUnpack(image, digest, folder, { ...options, signal }),
  ).catch((error: unknown) => {
    throw named(image, error);
  });
  // The folder gets its name when this is on disk.
  await options.exec.run("sync", ["--file-system", folder], { signal: options.signal });
  return config;
}

async function copyAndUnpack(
  image: Remote,
  digest: string,
  folder: string,
  options: PullOptions,
): Promise<string> {
  const source = await pinned(image, digest, folder);
  const access = accessTo(image, options, "src-");
  await skopeo(["copy", "--quiet", ...access, source, `oci:${LAYOUT}:image`], image, options, folder);
  await rm(join(folder, PINNED), { recursive: true, force: true });
  requireFewLayers(await manifestOf(join(folder, LAYOUT)));
  const unpack = ["raw", "unpack", "--image", `${LAYOUT}:image`, "rootfs"];
  const result = await within(LIMIT_MS, options.signal, (signal) =>
    options.exec.try("umoci", unpack, { cwd: folder, signal, endsWithUs: true }),
  );
  if (result.exitCode !== 0) throw new Error(`umoci cannot unpack it: ${lastLine(result)}`);
  return readConfig(join(folder, LAYOUT));
}

/** Where skopeo gets this very image, whatever its tag stands for by now. */
async function pinned(image: Remote, digest: string, folder: string): Promise<string> {
  if (image.kind === "registry") return sourceOf(image, digest);
  await pinLayout(image.path, digest, join(folder, PINNED));
  return `oci:${PINNED}:image`;
}

/** With the image that it is about; skopeo's failures have it. */
function named(image: Remote, error: unknown): unknown {
  if (!(error instanceof Error) || error.message.startsWith("cannot get ")) return error;
  return new Error(`cannot get ${nameOf(image)}: ${error.message}`, { cause: error });
}

/** A program that crashed says why first, and where last. */
function lastLine({ stderr, exitCode }: ExecResult): string {
  const crash = /^panic: .*$/m.exec(stderr)?.[0];
  return readable(crash ?? (stderr.trim().split("\n").at(-1) || `it ended with exit code ${exitCode}`));
}

/**
 * A registry writes a part of what its failure says, and users read that in a terminal, in events and in a pod's status:
 * one line of bounded length, of which nothing moves the cursor.
 */
function readable(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return line.length <= MESSAGE_CHARACTERS ? line : `${line.slice(0, MESSAGE_CHARACTERS)}...`;
}

/** What operators write. */
export function nameOf(image: Remote): string {
  if (image.kind === "layout") return `oci:${image.path}:${image.tag}`;
  const tag = image.tag === undefined ? "" : `:${image.tag}`;
  return `${image.name}${tag}${image.digest === undefined ? "" : `@${image.digest}`}`;
}

function sourceOf(image: Remote, digest?: string): string {
  if (image.kind === "layout") return `oci:${image.path}:${image.tag}`;
  const { name, tag = "latest" } = image;
  const fixed = digest ?? image.digest;
  return fixed === undefined ? `docker://${name}:${tag}` : `docker://${name}@${fixed}`;
}

/** As everywhere, a registry on the machine itself may speak plain HTTP. */
function accessTo(image: Remote, { authFile }: PullOptions, prefix: "" | "src-"): string[] {
  if (image.kind === "layout") return [];
  const host = image.domain.replace(/:[0-9]+$/, "");
  const local = host === "localhost" || host === "[::1]" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
  return [`--${prefix}authfile`, authFile, ...(local ? [`--${prefix}tls-verify=false`] : [])];
}

async function skopeo(
  args: readonly string[],
  image: Remote,
  { exec, signal }: PullOptions,
  cwd?: string,
): Promise<ExecResult> {
  const more = defined({ cwd });
  const result = await within(LIMIT_MS, signal, (limited) =>
    exec.try("skopeo", ["--command-timeout", LIMIT, ...args], { ...more, signal: limited, endsWithUs: true }),
  );
  if (result.exitCode === 0) return result;
  throw new Error(`cannot get ${nameOf(image)}: ${lastMessage(result)}. ${adviceFor(image)}`);
}

function adviceFor(image: Remote): string {
  return image.kind === "layout"
    ? "Is there an OCI image layout with that tag? `skopeo inspect` shows"
    : "Does this machine reach the registry? Images that are on it already need none: image: host, dir:/PATH, oci:/PATH[:TAG]";
}

function lastMessage({ stderr, exitCode }: ExecResult): string {
  const messages = [...stderr.matchAll(/msg=("(?:[^"\\]|\\.)*")/g)].map(([, text]) => unquoted(text ?? '""'));
  const last = messages.at(-1) ?? stderr.trim().split("\n").at(-1);
  return readable(last || `skopeo ended with exit code ${exitCode}`);
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

async function readConfig(layout: string): Promise<string> {
  const manifest = JSON.parse((await manifestOf(layout)).toString("utf8"));
  return (await blob(layout, manifest?.config?.digest)).toString("utf8");
}

async function manifestOf(layout: string): Promise<Buffer> {
  const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8"));
  return blob(layout, index?.manifests?.[0]?.digest);
}

async function blob(layout: string, digest: unknown): Promise<Buffer> {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(String(digest))?.[1];
  if (hex === undefined) throw new Error("the image's manifest names no sha256 digest");
  const path = join(layout, "blobs", "sha256", hex);
  if ((await stat(path)).size > CONFIG_BYTES)
    throw new Error(`the image's configuration is longer than ${CONFIG_BYTES} bytes`);
  return readFile(path);
}
