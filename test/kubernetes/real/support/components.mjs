// Kubernetes' own programs and etcd, built from their Go modules once and kept outside of the checkout.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

export const KUBERNETES = "1.35.4";
export const ETCD = "3.6.5";

const COMPONENTS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"];
export const PROGRAMS = ["etcd", ...COMPONENTS];
/** Kubernetes' own tests, what runs several of them at once, and what their pods run. */
export const SUITE = ["e2e.test", "ginkgo", "agnhost"];
/** What two of the tests populate volumes with. Not every proxy has its module: those two are left out then. */
export const POPULATOR = "hello-populator";
/** The Kubernetes project's driver of folders, around which Mooring's control plane is tested. */
export const HOST_PATH_DRIVER = "hostpathplugin";

/** Packages of the module of Kubernetes, and one that it requires, by the program that is made of each. */
const PACKAGES = {
  ...Object.fromEntries(COMPONENTS.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`])),
  "e2e.test": "k8s.io/kubernetes/test/e2e",
  agnhost: "k8s.io/kubernetes/test/images/agnhost",
  ginkgo: "github.com/onsi/ginkgo/v2/ginkgo",
};

/** `MOORING_KUBERNETES_BIN` names a folder that has the programs already. */
export function programFolder() {
  return (
    process.env.MOORING_KUBERNETES_BIN ??
    join(homedir(), ".cache", "mooring", `kubernetes-${KUBERNETES}`, "bin")
  );
}

/** What to build a program from. */
function sourceOf(name) {
  if (name === "etcd")
    return { module: "go.etcd.io/etcd/server/v3", version: `v${ETCD}`, pkg: "go.etcd.io/etcd/server/v3" };
  if (name === POPULATOR) {
    const module = "github.com/kubernetes-csi/lib-volume-populator";
    return { module, version: "v1.0.1", pkg: `${module}/example/${POPULATOR}` };
  }
  if (name === HOST_PATH_DRIVER) {
    const [module, version] = ["github.com/kubernetes-csi/csi-driver-host-path", "v1.18.0"];
    return { module, version, pkg: `${module}/cmd/${name}`, flags: [`-X main.version=${version}`] };
  }
  const [major, minor] = KUBERNETES.split(".");
  const at = "k8s.io/component-base/version";
  const set = { gitVersion: `v${KUBERNETES}`, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
  const flags = Object.entries(set).map(([key, value]) => `-X ${at}.${key}=${value}`);
  return { module: "k8s.io/kubernetes", version: `v${KUBERNETES}`, pkg: PACKAGES[name], flags };
}

const go = (args, cwd) =>
  execute("go", args, {
    cwd,
    maxBuffer: 64 << 20,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=mod" },
  });

/** Those of them that are to be built yet. */
export function missingPrograms(names) {
  return names.filter((name) => !existsSync(join(programFolder(), name)));
}

/** Builds what is missing. A program appears under its name only when it is whole. */
export async function buildPrograms(names = PROGRAMS, say = () => {}) {
  const bin = programFolder();
  await mkdir(bin, { recursive: true });
  for (const name of missingPrograms(names)) {
    const from = Date.now();
    say(`building ${name} (once; minutes)`);
    await build(name, bin);
    say(`built ${name} in ${Math.round((Date.now() - from) / 1000)} s`);
  }
  return bin;
}

/** Builds it if it can be; says so if not. */
export async function buildPopulator(say) {
  await buildPrograms([POPULATOR], say).catch((error) => say(`${POPULATOR} is not built: ${error.message}`));
}

/**
 * The path of the host-path driver: that of the folder which `MOORING_SIDECARS_BIN` names, or one that is built if it can be. Throws
 * what to do where it cannot: not every proxy has its module.
 */
export async function hostPathDriver(say) {
  const sidecars = process.env.MOORING_SIDECARS_BIN;
  const theirs = sidecars === undefined ? undefined : join(sidecars, HOST_PATH_DRIVER);
  if (theirs !== undefined && existsSync(theirs)) return theirs;
  const { module, version } = sourceOf(HOST_PATH_DRIVER);
  await buildPrograms([HOST_PATH_DRIVER], say).catch((cause) => {
    const by = `go build -mod=vendor -ldflags "-X main.version=${version}" ./cmd/${HOST_PATH_DRIVER}`;
    const next = `In a checkout of ${module} run ${by}, and name the program's folder in MOORING_SIDECARS_BIN`;
    throw new Error(`${HOST_PATH_DRIVER} cannot be built from its Go module. ${next}`, { cause });
  });
  return join(programFolder(), HOST_PATH_DRIVER);
}

/**
 * A module whose go.mod replaces others cannot be installed as it is, because replacements count in the main module only: so
 * a main module of ours requires it, and replaces the same.
 */
async function build(name, bin) {
  const { module, version, pkg, flags = [] } = sourceOf(name);
  const folder = await mkdtemp(join(tmpdir(), `mooring-build-${name}-`));
  try {
    const { stdout } = await execute("go", ["mod", "download", "-json", `${module}@${version}`], {
      cwd: folder,
    });
    const theirs = await readFile(JSON.parse(stdout).GoMod, "utf8");
    await writeFile(join(folder, "go.mod"), mainModule(theirs, module, version));
    await writeFile(join(folder, "tools.go"), `//go:build tools\n\npackage tools\n\nimport _ "${pkg}"\n`);
    await go(["mod", "tidy"], folder).catch(() => {});
    const made = join(folder, "program");
    // Go would check all sources that a test is made of, which takes longer than to compile them.
    const how = name.endsWith(".test") ? ["test", "-c", "-vet=off"] : ["build"];
    await go([...how, "-trimpath", "-ldflags", ["-s", "-w", ...flags].join(" "), "-o", made, pkg], folder);
    await execute("install", ["-m", "0755", made, join(bin, `.${name}`)]);
    await rename(join(bin, `.${name}`), join(bin, name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Its own requirements, pinned as it has them, and what it replaces by other versions; Kubernetes' staging modules by the versions that
 * they are published as.
 */
export function mainModule(theirs, module, version) {
  const language = /^go .*$/m.exec(theirs)?.[0] ?? "go 1.24";
  const required = [...theirs.matchAll(/^\s+(\S+) (v\S+)( \/\/ indirect)?$/gm)]
    .filter(([, name, at]) => at !== "v0.0.0" && name !== module)
    .map(([, name, at]) => `\t${name} ${at}`);
  // Only what is developed there has no version at all: others of k8s.io have one of a day.
  const staging = [
    ...theirs.matchAll(/^\s*(k8s\.io\/[a-z0-9-]+) (?:=> \.\/staging|v0\.0\.0(?:$| \/\/))/gm),
  ].map(([, name]) => name);
  const versions = [...theirs.matchAll(/^(?:replace|\t) ?(\S+) => (\S+ v\S+)$/gm)];
  const replacements = new Map([
    ...staging.map((name) => [name, `${name} v0.${KUBERNETES.slice(2)}`]),
    ...versions.map(([, name, by]) => [name, by]),
  ]);
  const replaced = [...replacements].map(([name, by]) => `\t${name} => ${by}`);
  return [
    ...["module built", language, `require ${module} ${version}`],
    ...["require (", ...required, ")", "replace (", ...replaced, ")", ""],
  ].join("\n");
}
