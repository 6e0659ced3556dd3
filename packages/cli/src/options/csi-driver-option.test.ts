import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { csiDriverOption, type DeclaredCsiDrivers, declaredFor } from "./csi-driver-option.ts";

function parse(...fields: string[]): DeclaredCsiDrivers | undefined {
  const command = new Command()
    .addOption(csiDriverOption())
    .exitOverride()
    .configureOutput({ writeErr() {} });
  command.parse(
    fields.flatMap((each) => ["--csi-driver", each]),
    { from: "user" },
  );
  return command.opts()["csiDriver"];
}

const ofAny = (...fields: string[]) => declaredFor(parse(...fields) ?? {})("some.example.com");

test("with several drivers a field has the name of its own in front", () => {
  const of = declaredFor(
    parse(
      ...["a.example.com/fsGroupPolicy=File", "b.example.com/fsGroupPolicy=None"],
      'a.example.com/tokenRequests=[{"audience":"https://vault/a=b"}]',
    ) ?? {},
  );
  assert.deepEqual(of("a.example.com"), {
    fsGroupPolicy: "File",
    tokenRequests: [{ audience: "https://vault/a=b" }],
  });
  assert.deepEqual(of("b.example.com"), { fsGroupPolicy: "None" });
  assert.equal(of("c.example.com"), undefined);
});

test("fields of the CSIDriver object are declared one by one, each with values of its own", () => {
  assert.equal(parse(), undefined);
  const tokens = '[{"audience":"https://vault:8200","expirationSeconds":3600},{"audience":""}]';
  assert.deepEqual(
    ofAny(
      ...["attachRequired=false", "fsGroupPolicy=File", "nodeAllocatableUpdatePeriodSeconds=30"],
      ...["podInfoOnMount=true", "requiresRepublish=true", "seLinuxMount=true", "storageCapacity=false"],
      ...["serviceAccountTokenInSecrets=true", `tokenRequests=${tokens}`],
      "volumeLifecycleModes=Persistent,Ephemeral",
    ),
    {
      ...{ attachRequired: false, fsGroupPolicy: "File", nodeAllocatableUpdatePeriodSeconds: 30 },
      ...{ podInfoOnMount: true, requiresRepublish: true, seLinuxMount: true, storageCapacity: false },
      serviceAccountTokenInSecrets: true,
      tokenRequests: [{ audience: "https://vault:8200", expirationSeconds: 3600 }, { audience: "" }],
      volumeLifecycleModes: ["Persistent", "Ephemeral"],
    },
  );
});

test("a field that there is not, and a value that it cannot have, are refused with what to write", () => {
  const refused: [string, RegExp][] = [
    ["fsGroupPolicy", /FIELD=VALUE, FIELD one of attachRequired, fsGroupPolicy/],
    ["toString=true", /FIELD=VALUE/],
    ["fsGroupPolicy=file", /one of ReadWriteOnceWithFSType, File, None/],
    ["requiresRepublish=yes", /true or false/],
    ["nodeAllocatableUpdatePeriodSeconds=9", /from 10/],
    ["tokenRequests=vault", /JSON like/],
    ['tokenRequests=[{"audience":"a","seconds":1}]', /JSON like/],
    ["volumeLifecycleModes=", /of Persistent, Ephemeral, with commas/],
  ];
  for (const [field, why] of refused) assert.throws(() => parse(field), why, field);
});
