// The calls of the volume group service by grpcurl, a program that knows nothing of it but the documents' text.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { run } from "../../../scripts/lib/run.mjs";
import { stop } from "../../../scripts/lib/say.mjs";
import { ROOT } from "../../../scripts/lib/setup.mjs";

const PROGRAM = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3";
const BIN = join(ROOT, ".cache/bin");
const DOCUMENTS = dirname(fileURLToPath(import.meta.url));
/** What the documents import, by the name that they have for it. */
const CSI = "github.com/container-storage-interface/spec/lib/go/csi/csi.proto";
const SPEC = "github.com/container-storage-interface/spec";
const execute = promisify(execFile);

async function install() {
  await mkdir(BIN, { recursive: true });
  const env = { ...process.env, GOBIN: BIN, GOFLAGS: "-mod=mod" };
  if ((await run("go", ["install", PROGRAM], { env })) !== 0)
    stop("grpcurl could not be built.", "allow Go its module proxy, then run this again");
  return join(BIN, "grpcurl");
}

/** Calls `service/method` with a message in JSON; resolves with the response, or with `{ code, message }` of a refusal. */
async function caller(socket, imports) {
  const program = await install();
  const { stdout } = await execute("go", ["list", "-m", "-f", "{{.Dir}}", SPEC], { cwd: DOCUMENTS });
  await mkdir(dirname(join(imports, CSI)), { recursive: true });
  await copyFile(join(stdout.trim(), "csi.proto"), join(imports, CSI));
  const texts = ["volumegroup.proto", "identity.proto", CSI].flatMap((file) => ["-proto", file]);
  const options = ["-plaintext", "-import-path", DOCUMENTS, "-import-path", imports, ...texts];
  return async (method, message = {}) => {
    const args = [...options, "-d", JSON.stringify(message), `unix://${socket}`, method];
    try {
      return JSON.parse((await execute(program, args)).stdout);
    } catch (error) {
      const [, code] = /Code: (\w+)/.exec(error.stderr) ?? [];
      const [, text] = /Message: (.*)/.exec(error.stderr) ?? [];
      if (code === undefined) throw error;
      return { code, message: text };
    }
  };
}

const GROUPS = "volumegroup.Controller";
const capability = {
  mount: { fs_type: "ext4" },
  access_mode: { mode: "SINGLE_NODE_WRITER" },
};
const idsOf = ({ volumes = [] }) => volumes.map(({ volumeId }) => volumeId).sort();

async function identity(call) {
  const { name, vendorVersion } = await call("identity.Identity/GetIdentity");
  assert.equal(name, "csi.mooring.dev");
  assert.match(vendorVersion, /^\d+\.\d+\.\d+/);
  const { capabilities } = await call("identity.Identity/GetCapabilities");
  assert.ok(capabilities.some(({ volumeGroup }) => volumeGroup !== undefined));
  assert.deepEqual(await call("identity.Identity/Probe"), { ready: true });
}

async function life(call) {
  const bytes = 64 << 20;
  const [a, b] = await Promise.all(
    ["grpcurl-a", "grpcurl-b"].map(async (name) => {
      const request = {
        ...{ name, capacity_range: { required_bytes: bytes } },
        volume_capabilities: [capability],
      };
      return (await call("csi.v1.Controller/CreateVolume", request)).volume.volumeId;
    }),
  );
  const { volumeGroup: made } = await call(`${GROUPS}/CreateVolumeGroup`, {
    name: "grpcurl",
    volume_ids: [a],
  });
  const volume_group_id = made.volumeGroupId;
  assert.ok(volume_group_id);
  assert.deepEqual(idsOf(made), [a]);
  assert.equal(made.volumes[0].capacityBytes, String(bytes));
  const again = await call(`${GROUPS}/CreateVolumeGroup`, { name: "grpcurl", volume_ids: [a] });
  assert.deepEqual(again.volumeGroup, made);

  const both = { volume_group_id, volume_ids: [a, b] };
  const { volumeGroup: grown } = await call(`${GROUPS}/ModifyVolumeGroupMembership`, both);
  assert.deepEqual(idsOf(grown), [a, b].sort());
  const { volumeGroup: read } = await call(`${GROUPS}/ControllerGetVolumeGroup`, { volume_group_id });
  assert.deepEqual(idsOf(read), [a, b].sort());
  const { entries } = await call(`${GROUPS}/ListVolumeGroups`, { max_entries: 0 });
  const listed = entries.find(({ volumeGroup }) => volumeGroup.volumeGroupId === volume_group_id);
  assert.deepEqual(listed.volumeGroup, read);

  const unknown = await call(`${GROUPS}/ModifyVolumeGroupMembership`, {
    volume_group_id,
    volume_ids: ["none"],
  });
  assert.equal(unknown.code, "NotFound");
  assert.match(unknown.message, /none/);
  const member = await call("csi.v1.Controller/DeleteVolume", { volume_id: a });
  assert.equal(member.code, "FailedPrecondition");
  assert.ok(member.message.includes(volume_group_id), member.message);

  assert.deepEqual(await call(`${GROUPS}/DeleteVolumeGroup`, { volume_group_id }), {});
  assert.deepEqual(await call(`${GROUPS}/DeleteVolumeGroup`, { volume_group_id }), {});
  const gone = await call(`${GROUPS}/ControllerGetVolumeGroup`, { volume_group_id });
  assert.equal(gone.code, "NotFound");
}

const CHECKS = {
  "grpcurl: the add-ons' identity": identity,
  "grpcurl: a group is made, changed, read, listed and deleted, and refusals have their codes": life,
};

/** Runs all of them against the driver behind the socket; true when none failed. */
export async function checkByGrpcurl(socket) {
  const imports = await mkdtemp(join(tmpdir(), "mooring-proto-"));
  try {
    const call = await caller(socket, imports);
    let good = true;
    for (const [name, check] of Object.entries(CHECKS)) {
      const failure = await check(call).then(
        () => undefined,
        (error) => error,
      );
      good &&= failure === undefined;
      process.stdout.write(
        failure === undefined ? `ok - ${name}\n` : `not ok - ${name}: ${failure.message}\n`,
      );
    }
    return good;
  } finally {
    await rm(imports, { recursive: true, force: true });
  }
}
