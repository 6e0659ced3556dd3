import { defined } from "@mooring/store";

/** What an image records about how its program is started: `config` of an OCI image configuration. */
export interface ImageConfig {
  Entrypoint?: readonly string[];
  Cmd?: readonly string[];
  /** `NAME=value`. */
  Env?: readonly string[];
  WorkingDir?: string;
  /** `name`, `uid`, `name:group` or `uid:gid`. */
  User?: string;
  /** `SIGQUIT`, `QUIT` or a number. */
  StopSignal?: string;
}

/** Reads the JSON of an image's configuration. The maker of the image, who is not trusted, wrote it. */
export function parseImageConfig(text: string): ImageConfig {
  const { config } = asObject(JSON.parse(text), "the configuration");
  // A file system alone is an image, too.
  if (config === undefined || config === null) return {};
  const given = asObject(config, "config");
  return defined({
    Entrypoint: stringList(given, "Entrypoint"),
    Cmd: stringList(given, "Cmd"),
    Env: stringList(given, "Env"),
    WorkingDir: stringField(given, "WorkingDir"),
    User: stringField(given, "User"),
    StopSignal: stringField(given, "StopSignal"),
  });
}

/** Variables in the order of the image; a later one wins. */
export function imageVariables({ Env = [] }: ImageConfig): Record<string, string> {
  const entries = Env.filter((each) => each.indexOf("=") > 0).map((each) => {
    const at = each.indexOf("=");
    return [each.slice(0, at), each.slice(at + 1)] as const;
  });
  return Object.fromEntries(entries);
}

/** Kubernetes' rule: a pod's command takes the place of both of the image's; its args take that of Cmd alone. */
export function programOf(
  { Entrypoint = [], Cmd = [] }: ImageConfig,
  command: readonly string[],
  args: readonly string[],
): readonly string[] {
  if (command.length > 0) return [...command, ...args];
  return [...Entrypoint, ...(args.length > 0 ? args : Cmd)];
}

type Fields = Record<string, unknown>;

function asObject(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${what} of the image is no object`);
  return value as Fields;
}

function stringField(from: Fields, name: string): string | undefined {
  const value = from[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (isText(value)) return value;
  throw new Error(`config.${name} of the image is no text`);
}

function stringList(from: Fields, name: string): readonly string[] | undefined {
  const value = from[name];
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.every(isText)) return value;
  throw new Error(`config.${name} of the image is no list of texts`);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}
