import { defined } from "@mooring/store";

/** What `image:` of a container names. */
export type ImageReference =
  /** The machine's own root file system. */
  | { kind: "host" }
  /** A root file system in a folder of the machine. */
  | { kind: "folder"; path: string }
  /** One image of an OCI image layout on the machine. */
  | { kind: "layout"; path: string; tag: string }
  /** An image of a registry, as skopeo takes it behind `docker://`. */
  | { kind: "registry"; name: string; domain: string; tag?: string; digest?: string };

/** Kubernetes' reason for an image that has no valid name. */
export class InvalidImageName extends Error {}

const LONGEST = 1024;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const DOMAIN =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-f:]+\])(?::[0-9]{1,5})?$/;
const PATH = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;

/** Reads `host`, `dir:/PATH`, `oci:/PATH[:TAG]` or a registry's name. Throws {@link InvalidImageName}. */
export function parseImage(text: string): ImageReference {
  if (text === "host") return { kind: "host" };
  if (text === "" || text.length > LONGEST) throw invalid(text, "it must have 1 to 1024 characters");
  if (text.startsWith("dir:")) return { kind: "folder", path: pathOf(text, text.slice("dir:".length)) };
  if (text.startsWith("oci:")) return layout(text, text.slice("oci:".length));
  return registry(text);
}

function layout(text: string, rest: string): ImageReference {
  const colon = rest.indexOf(":");
  const path = pathOf(text, colon < 0 ? rest : rest.slice(0, colon));
  const tag = colon < 0 ? "latest" : rest.slice(colon + 1);
  if (!TAG.test(tag)) throw invalid(text, "what follows the last colon is no tag");
  return { kind: "layout", path, tag };
}

/** Absolute and as short as it can be: what is checked is what is opened. */
function pathOf(text: string, path: string): string {
  const parts = path.split("/").slice(1);
  const plain = path.startsWith("/") && parts.every((part) => part !== "" && part !== "." && part !== "..");
  if (!plain)
    throw invalid(text, 'the path must be absolute, without "." or ".." and without a slash at the end');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[:\u0000-\u001f\u007f]/.test(path)) throw invalid(text, "the path has a colon or a control character");
  return path;
}

function registry(text: string): ImageReference {
  const [named = "", digest, ...more] = text.split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest)))
    throw invalid(text, "what follows the @ is no sha256 digest");
  const slash = named.lastIndexOf("/");
  const colon = named.indexOf(":", slash + 1);
  const tag = colon < 0 ? undefined : named.slice(colon + 1);
  if (tag !== undefined && !TAG.test(tag)) throw invalid(text, "what follows the last colon is no tag");
  const path = colon < 0 ? named : named.slice(0, colon);
  const { domain, rest } = splitDomain(path);
  if (!DOMAIN.test(domain)) throw invalid(text, "its registry is no host name");
  if (!rest.split("/").every((part) => PATH.test(part)))
    throw invalid(
      text,
      "a name is lower-case letters and digits, with . _ - between them and / between its parts",
    );
  return {
    kind: "registry",
    name: `${domain}/${rest}`,
    domain,
    ...defined({ tag, digest }),
  };
}

/** As everywhere: what is before the first slash is a registry if it has the form of a host; else it is Docker Hub's. */
function splitDomain(path: string): { domain: string; rest: string } {
  const slash = path.indexOf("/");
  const first = path.slice(0, Math.max(slash, 0));
  if (slash > 0 && (/[.:[]/.test(first) || first === "localhost"))
    return { domain: first, rest: path.slice(slash + 1) };
  return { domain: "docker.io", rest: slash < 0 ? `library/${path}` : path };
}

function invalid(text: string, why: string): InvalidImageName {
  const shown = JSON.stringify(text.slice(0, 200));
  return new InvalidImageName(
    `image ${shown} has no valid name: ${why}. Use host, dir:/PATH, oci:/PATH[:TAG] or REGISTRY/NAME[:TAG]`,
  );
}
