import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { type ProvisionFlags, provisionSettings, withProvisionFlags } from "./provision-options.ts";

function parse(...args: string[]) {
  const command = withProvisionFlags(new Command("controller")).exitOverride();
  command.configureOutput({ writeErr: () => {} });
  return provisionSettings(command.parse(args, { from: "user" }).opts<ProvisionFlags>());
}

test("without flags claims become volumes as with external-provisioner", () => {
  assert.deepEqual(parse(), {
    ...{ defaultFsType: "", volumeNameUuidLength: -1, strictTopology: false, immediateTopology: true },
    ...{ controllerPublishReadonly: false, preventVolumeModeConversion: true },
  });
});

test("the flags of external-provisioner are taken as it takes them", () => {
  const settings = parse(
    ...["--default-fstype=xfs", "--volume-name-uuid-length=8", "--strict-topology"],
    ...["--immediate-topology=false", "--controller-publish-readonly=true"],
    "--prevent-volume-mode-conversion=false",
  );
  assert.deepEqual(settings, {
    ...{ defaultFsType: "xfs", volumeNameUuidLength: 8, strictTopology: true, immediateTopology: false },
    ...{ controllerPublishReadonly: true, preventVolumeModeConversion: false },
  });
});

test("what is neither true nor false, and a length that no UID has, are refused", () => {
  assert.throws(() => parse("--strict-topology=maybe"), /true or false/);
  assert.throws(() => parse("--volume-name-uuid-length=33"), /from -1, which is all of it, to 32/);
});
